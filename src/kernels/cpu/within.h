// Which values of a list lie in a range: times that a seed allows, say.
#pragma once

#include <cstdint>

namespace ramet {

// Kernels write up to so many entries more than they find.
inline constexpr int64_t kWithinPadding = 16;

// Writes the numbers of the values in first .. last to `found`, ascending, and returns how many
// there are. first <= last. Of `count` values, fewer than 2^32; `found` has room for
// count + kWithinPadding.
using Within =
    int64_t (*)(int64_t first, int64_t last, const int64_t* values, int64_t count, uint32_t* found);

[[nodiscard]] int64_t within_portable(
    int64_t first, int64_t last, const int64_t* values, int64_t count, uint32_t* found);

}  // namespace ramet
