// Finding rows in the bitmap of a part: one kernel per instruction set, all with the same results.
#pragma once

#include <cstdint>

namespace ramet {

// rows[i] = the row of nodes[i], -1 where the bitmap does not have it. Nodes have been compared
// with the number of bits; what a damaged bitmap gives may be any number.
struct BitRankKernels {
  void (*of_int32)(const uint64_t* lines, const int32_t* nodes, int64_t count, int64_t* rows);
  void (*of_int64)(const uint64_t* lines, const int64_t* nodes, int64_t count, int64_t* rows);
};

// What ramet::isa() chose.
[[nodiscard]] const BitRankKernels& bit_rank_kernels();

// nullptr where the build has none.
[[nodiscard]] const BitRankKernels* bit_rank_avx2();

}  // namespace ramet
