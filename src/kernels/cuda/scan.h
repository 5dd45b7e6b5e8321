// Running sums, by CUB, whose headers take longer to compile than any kernel here: scan.cu alone
// includes them.
#pragma once

#include <cstdint>

#include "kernels/cuda_sampling.h"

namespace ramet {

// values[i] becomes values[0] + ... + values[i].
void running_sum(int64_t* values, int64_t count, const CudaScratch& scratch, void* stream);
void running_sum(uint32_t* values, int64_t count, const CudaScratch& scratch, void* stream);

}  // namespace ramet
