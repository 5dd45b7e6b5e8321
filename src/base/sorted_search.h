// Searches of many values in ascending ranges of one array, as the rows of a CSC are, or its
// offsets. A search alone waits for memory once per step. These go side by side, and ask for the
// memory of their next step.
#pragma once

#include <cstdint>
#include <span>

#include "ramet/array.h"

namespace ramet {

struct SortedSearch {
  int64_t begin, end;  // where it looks; begin <= end
  int64_t wanted;
};

struct ValueRange {
  int64_t first, last;
};

// Moves the begin of each to the first value that is at least `wanted`, or to its end. `values` is
// int32 or int64. A search is quick where values lie evenly in `all`: about log log n steps for one
// of n, never many more than log n. If `all` has but one value, ranges are halved. In a range that
// does not ascend, a search ends anywhere.
void search_sorted(const Array& values, ValueRange all, std::span<SortedSearch> searches);

}  // namespace ramet
