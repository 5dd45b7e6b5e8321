#include "bit_rank.h"

#include "bit_rank_loop.h"
#include "ramet/isa.h"

namespace ramet {

const RankKernels& rank_kernels() {
  static constexpr RankKernels kPortable{find_rows<int32_t>, find_rows<int64_t>};
  return isa() == Isa::kPortable ? kPortable : *ranks_avx2();
}

}  // namespace ramet
