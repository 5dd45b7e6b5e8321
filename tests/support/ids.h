// Lists of ids for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ramet/array.h"
#include "ramet/random.h"

namespace ramet::test {

// `count` ids in [0, bound), drawn by `key`, with repeats.
template <typename Id = int64_t>
std::vector<Id> drawn_ids(int64_t count, int64_t bound, uint64_t key = 0) {
  std::vector<Id> ids(static_cast<size_t>(count));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<Id>(uniform_below(absorb(key, i), static_cast<uint64_t>(bound)));
  return ids;
}

inline std::vector<int64_t> numbers(const Array& ids) {
  return with_ids(ids, [](auto v) { return std::vector<int64_t>(v.begin(), v.end()); });
}

}  // namespace ramet::test
