// Ascending numbers, searched and kept without branches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ramet {

// The first of `size` ascending `sums` that exceeds `value`; the last exceeds it. By masks, for
// nobody can predict the branches.
inline int64_t first_above(const double* sums, size_t size, double value) {
  size_t first = 0;
  while (size > 1) {
    const size_t half = size / 2;
    first += half & (0 - static_cast<size_t>(sums[first + half - 1] <= value));
    size -= half;
  }
  return static_cast<int64_t>(first);
}

// Up to kMost numbers from 0 on, ascending. By masks as well.
template <size_t kMost>
class FewAscending {
 public:
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(size_); }
  [[nodiscard]] const int64_t* begin() const { return values_.data(); }
  [[nodiscard]] const int64_t* end() const { return values_.data() + size_; }
  void clear() { size_ = 0; }
  [[nodiscard]] bool contains(int64_t x) const {
    bool found = false;
    for (size_t i = 0; i < size_; ++i)
      found |= values_[i] == x;
    return found;
  }
  void insert(int64_t x) {
    for (size_t i = 0; i < size_; ++i) {
      const int64_t value = values_[i], below = value - x, change = below & (below >> 63);
      values_[i] = x + change;
      x = value - change;
    }
    values_[size_++] = x;
  }

 private:
  std::array<int64_t, kMost> values_ = {};
  size_t size_ = 0;
};

}  // namespace ramet
