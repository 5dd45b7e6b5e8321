// Running sums, by CUB.
#pragma once

#include <cub/device/device_scan.cuh>

#include "kernels/cuda/check.h"
#include "kernels/cuda_sampling.h"

namespace ramet {

// values[i] becomes values[0] + ... + values[i].
template <typename T>
void running_sum(T* values, int64_t count, const CudaScratch& scratch, void* stream) {
  if (count == 0) return;
  auto bytes = static_cast<size_t>(scratch.bytes);
  check_cuda(cub::DeviceScan::InclusiveSum(scratch.data, bytes, values, values, count,
                                           static_cast<cudaStream_t>(stream)),
             "cub::DeviceScan::InclusiveSum");
}

template <typename T>
int64_t running_sum_bytes(int64_t count) {
  size_t bytes = 0;
  T* none = nullptr;
  check_cuda(cub::DeviceScan::InclusiveSum(nullptr, bytes, none, none, count),
             "cub::DeviceScan::InclusiveSum");
  return static_cast<int64_t>(bytes);
}

}  // namespace ramet
