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
// int32 or int64. They are expected to lie evenly in `all`: a search for one of n takes about
// log log n steps then, and never many more than log n. Where `all` has but one value, nothing is
// known of them: ranges are halved. In a range that does not ascend it ends anywhere.
void search_sorted(const Array& values, ValueRange all, std::span<SortedSearch> searches);

}  // namespace ramet
