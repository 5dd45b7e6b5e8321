// The kernels over named rows, as kernels/cuda_named_rows.h describes them.
#pragma once

#include "kernels/cuda_named_rows.h"

namespace ramet {

void set_named_rows_cuda(int device, const CudaWriteArgs& args, void* stream);
void sum_named_rows_cuda(int device, const CudaWriteArgs& args, void* stream);
void update_named_rows_cuda(int device, const CudaUpdateArgs& args, void* stream);
void find_positions_cuda(int device, const CudaFindPositionsArgs& args, void* stream);

}  // namespace ramet
