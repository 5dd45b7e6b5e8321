// Compiled for AVX2, since a processor that has it counts the bits of a word in one instruction.
#include "bit_rank.h"
#include "bit_rank_loop.h"

namespace ramet {

const BitRankKernels* bit_rank_avx2() {
  static constexpr BitRankKernels kKernels{find_rows<int32_t>, find_rows<int64_t>};
  return &kKernels;
}

}  // namespace ramet
