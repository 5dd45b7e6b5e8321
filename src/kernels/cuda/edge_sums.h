// The kernels that kernels/cuda_edge_sums.h describes.
#pragma once

#include "kernels/cuda_edge_sums.h"

namespace ramet {

void sum_edges_cuda(int device, const CudaEdgeSumArgs& args, void* stream);
void transpose_cuda(int device, const CudaTransposeArgs& args, void* stream);

}  // namespace ramet
