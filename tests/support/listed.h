// Lists of rows for tests: random ids, with repeats, and random values.
#pragma once

#include <vector>

#include "ids.h"
#include "ramet/random.h"
#include "ramet/row_list.h"

namespace ramet::test {

// float32 [values / width, width]
inline Array writable(std::vector<float>& values, int64_t width) {
  return {values.data(), DType::kFloat32, {std::ssize(values) / width, width}, nullptr, true};
}

class Listed {
 public:
  Listed(int64_t count, int64_t rows, int64_t width, uint64_t key)
      : width_(width), ids_(drawn_ids(count, rows, key)) {
    for (int64_t i = 0; i < count * width; ++i)
      values_.push_back(
          static_cast<float>(absorb(key + 1, static_cast<uint64_t>(i)) >> 40) * 0x1p-20F - 8);
  }

  [[nodiscard]] RowList list() const { return part(0, std::ssize(ids_)); }
  // Ids [begin, end) and their rows.
  [[nodiscard]] RowList part(int64_t begin, int64_t end) const {
    const auto length = static_cast<size_t>(end - begin);
    return {{ids_.data() + begin, length},
            {const_cast<float*>(values_.data()) + begin * width_,
             DType::kFloat32,
             {end - begin, width_},
             nullptr}};
  }

 private:
  int64_t width_;
  std::vector<int64_t> ids_;
  std::vector<float> values_;
};

}  // namespace ramet::test
