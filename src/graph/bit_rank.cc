#include "bit_rank.h"

#include "bit_rank_loop.h"
#include "ramet/isa.h"

namespace ramet {

const BitRankKernels& bit_rank_kernels() {
  static constexpr BitRankKernels kPortable{find_rows<int32_t>, find_rows<int64_t>};
  return isa() < Isa::kAvx2 ? kPortable : *bit_rank_avx2();
}

}  // namespace ramet
