#include "isa_kernels.h"

namespace ramet {

const IsaKernels& isa_kernels([[maybe_unused]] Isa set) {
#ifdef RAMET_NEON
  if (set == Isa::kNeon) return neon_kernels();
#elif defined(RAMET_AVX)
  if (set == Isa::kAvx512) return avx512_kernels();
  if (set == Isa::kAvx2) return avx2_kernels();
#endif
  return portable_kernels();
}

}  // namespace ramet
