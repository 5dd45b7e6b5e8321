// The rows of a table that are read most: what a cache in front of it should hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/array.h"

namespace ramet {

// Adds to counts[id] how often `ids`, int32 or int64, name id; ids beyond the counts are skipped.
void count_ids(const Array& ids, std::span<int64_t> counts);

// The same, of ids that `ids` names several times once, and none beyond the counts. `seen`: as long
// as `counts`, all false before and after.
void count_distinct_ids(const Array& ids, std::vector<bool>& seen, std::span<int64_t> counts);

// At most `count` ids, ascending: those with the highest count. Of equal counts those with the
// higher `second_counts`, where there are any; then the lower ids.
[[nodiscard]] std::vector<int64_t> hottest_rows(int64_t count,
                                                std::span<const int64_t> counts,
                                                std::span<const int64_t> second_counts = {});

}  // namespace ramet
