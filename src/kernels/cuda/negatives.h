// The kernel that kernels/cuda_negatives.h describes.
#pragma once

#include "kernels/cuda_negatives.h"

namespace ramet {

void draw_negatives_cuda(int device, const CudaNegativesArgs& args, void* stream);

}  // namespace ramet
