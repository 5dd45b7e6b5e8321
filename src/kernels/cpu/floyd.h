// Floyd's algorithm for 16 rows at a time, one row per vector lane; docs/semantics.md, section 3.
//
// Every instruction set gives the same picks. Rows are independent, so which rows come together
// cannot be seen in the result.
#pragma once

#include <cstdint>

#include "base/draw_keys.h"

namespace ramet {

inline constexpr int kFloydRows = 16;
inline constexpr int kFloydMaxFanout = 32;  // the work per pick grows with the fanout

struct FloydRows {
  // Row r is node[r % 2][r / 2]: even and odd rows apart, since a vector of 32-bit lanes taken as
  // one of 64-bit lanes has the even rows in the low halves and the odd rows in the high halves.
  alignas(64) uint64_t node[2][kFloydRows / 2];
  alignas(64) uint32_t degree[kFloydRows];  // each above the fanout
};

struct FloydPicks {
  alignas(64) uint32_t of[kFloydMaxFanout][kFloydRows];  // of[t][r]: the t-th smallest of row r
};

// Picks `fanout` (1 to kFloydMaxFanout) positions below its degree for every row. Bit r of the
// result is set where row r was not picked, since a draw may have to be repeated (at most one
// draw in 2^32): Picker does such a row.
using FloydKernel = uint32_t (*)(const DrawKeys& hop_keys,
                                 int fanout,
                                 const FloydRows& rows,
                                 FloydPicks& picks);

uint32_t floyd_portable(const DrawKeys& hop_keys,
                        int fanout,
                        const FloydRows& rows,
                        FloydPicks& picks);

}  // namespace ramet
