// The row kernels, as kernels/cuda_rows.h describes them.
#pragma once

#include "kernels/cuda_rows.h"

namespace ramet {

void gather_rows_cuda(int device, const CudaGatherArgs& args, void* stream);
void gather_decoded_cuda(int device, const CudaDecodeArgs& args, void* stream);
void scatter_rows_cuda(int device, const CudaScatterArgs& args, void* stream);
void round_rows_cuda(int device, const CudaRoundArgs& args, void* stream);
void order_ids_cuda(int device, const CudaOrderArgs& args, void* stream);

}  // namespace ramet
