// The sampling kernels of the CUDA seam (cuda.h): the steps of one edge type of one hop, whose
// results are those of the CPU's sampler to the bit. CudaSampler (cuda_sampler.h) puts them
// together.
#pragma once

#include <cstdint>

#include "ramet/draw_keys.h"

namespace ramet {

struct CudaSamplingKernels {};

}  // namespace ramet
