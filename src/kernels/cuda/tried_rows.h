// Draws with replacement by rejection, in the place of the first ones that were made by sums.
#pragma once

#include "kernels/cuda_sampling.h"

namespace ramet {

void store_tries_over(const CudaTries& args, const CudaPositions& positions, void* stream);

}  // namespace ramet
