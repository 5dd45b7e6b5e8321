// The kernel that kernels/cuda_edge_sums.h describes.
#pragma once

#include "kernels/cuda_edge_sums.h"

namespace ramet {

void sum_edges_cuda(int device, const CudaEdgeSumArgs& args, void* stream);

}  // namespace ramet
