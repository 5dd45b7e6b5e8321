// Gathered rows of float32 as bfloat16, an element to a thread. The gather before has read the bus
// or the table; this pass reads and writes device memory alone.
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/named_rows.cuh"
#include "kernels/cuda/rows.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {
namespace {

__global__ void round_rows(CudaRoundArgs args) {
  const int64_t i = thread_number();
  if (i < args.count) args.out[i] = BFloat16Element::store(args.values[i]);
}

}  // namespace

void round_rows_cuda(int device, const CudaRoundArgs& args, void* stream) {
  const DeviceScope scope(device);
  launch_each("round_rows", round_rows, args.count, stream, args);
}

}  // namespace ramet
