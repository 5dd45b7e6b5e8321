#include "cuda/block_sums.h"

#include "kernels/cuda/launch.h"

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / 32;

__device__ uint32_t warp_sum(uint32_t value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}

__global__ void sum_blocks(const uint32_t* values, uint32_t* sums) {
  __shared__ uint32_t of_warp[kWarps];
  const uint32_t sum = warp_sum(values[blockIdx.x * kThreads + threadIdx.x]);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  const uint32_t total = warp_sum(threadIdx.x < kWarps ? of_warp[threadIdx.x] : 0);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

}  // namespace

std::vector<uint32_t> block_sums(const std::vector<uint32_t>& values) {
  const size_t blocks = values.size() / kThreads;
  const size_t bytes = values.size() * sizeof(uint32_t);
  std::vector<uint32_t> result(blocks);
  uint32_t* device = nullptr;
  uint32_t* sums = nullptr;
  ramet::check_cuda(cudaMalloc(&device, bytes), "cudaMalloc");
  ramet::check_cuda(cudaMalloc(&sums, blocks * sizeof(uint32_t)), "cudaMalloc");
  ramet::check_cuda(cudaMemcpy(device, values.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  ramet::launch("sum_blocks", sum_blocks, dim3(blocks), dim3(kThreads), nullptr, device, sums);
  ramet::check_cuda(
      cudaMemcpy(result.data(), sums, blocks * sizeof(uint32_t), cudaMemcpyDeviceToHost),
      "cudaMemcpy");
  cudaFree(device);
  cudaFree(sums);
  return result;
}
