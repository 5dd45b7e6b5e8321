// Which values of a list lie in a range: times that a seed allows, say, or their codes.
#pragma once

#include <cstdint>

namespace ramet {

// Kernels write up to so many entries more than they find.
inline constexpr int64_t kWithinPadding = 16;

struct FoundCodes {
  int64_t count;
  bool any_at_ends;  // whether any is the first or the last of the range
};

// Writes the numbers of the values in first .. last to `found`, ascending, and returns how many
// there are. first <= last. Of `count` values, fewer than 2^32; `found` has room for
// count + kWithinPadding.
struct Within {
  int64_t (*of64)(
      int64_t first, int64_t last, const int64_t* values, int64_t count, uint32_t* found) = nullptr;
  FoundCodes (*of16)(uint16_t first,
                     uint16_t last,
                     const uint16_t* values,
                     int64_t count,
                     uint32_t* found) = nullptr;
};

[[nodiscard]] Within within_portable();

}  // namespace ramet
