#include "kernels/cuda/scan.h"

#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "kernels/cuda/check.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/sampling.h"

namespace ramet {
namespace {

// Where `scratch` is nullptr: says how many bytes of it are needed.
template <typename T>
void scan(T* values, int64_t count, void* scratch, size_t& bytes, void* stream) {
  check_cuda(cub::DeviceScan::InclusiveSum(scratch, bytes, values, values, count,
                                           static_cast<cudaStream_t>(stream)),
             "cub::DeviceScan::InclusiveSum");
}

template <typename T>
void scan(T* values, int64_t count, const CudaScratch& scratch, void* stream) {
  auto bytes = static_cast<size_t>(scratch.bytes);
  if (count > 0) scan(values, count, scratch.data, bytes, stream);
}

template <typename T>
int64_t bytes_of(int64_t count) {
  size_t bytes = 0;
  scan<T>(nullptr, count, nullptr, bytes, nullptr);
  return static_cast<int64_t>(bytes);
}

}  // namespace

void running_sum(int64_t* values, int64_t count, const CudaScratch& scratch, void* stream) {
  scan(values, count, scratch, stream);
}

void running_sum(uint32_t* values, int64_t count, const CudaScratch& scratch, void* stream) {
  scan(values, count, scratch, stream);
}

int64_t cuda_sampling::scan_bytes(int device, int64_t count) {
  const DeviceScope scope(device);
  return std::max(bytes_of<int64_t>(count), bytes_of<uint32_t>(count));
}

}  // namespace ramet
