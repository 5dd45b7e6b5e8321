// Walks, which kernels/cuda_walks.h describes.
#pragma once

#include "kernels/cuda_walks.h"

namespace ramet {

void walk_cuda(int device, const CudaWalkArgs& args, void* stream);

}  // namespace ramet
