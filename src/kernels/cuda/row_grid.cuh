// How many blocks a kernel over rows gets: those that run at once, each taking rows until there are
// no more. Rows in memory of the host come as fast as PCIe brings them, which a few multiprocessors
// keep busy: with max_sms the rest of the GPU is training's.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/check.h"
#include "kernels/cuda/row_access.h"

namespace ramet {

constexpr int kRowThreads = 256;

// For `num_rows` rows of `lanes` threads each, on the current device.
template <typename Kernel>
dim3 row_grid(Kernel kernel, int device, int64_t num_rows, int lanes, int max_sms) {
  int sms = 0, blocks_per_sm = 0;
  check_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device),
             "counting multiprocessors");
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, kernel, kRowThreads, 0),
             "asking how many blocks a multiprocessor holds");
  if (max_sms > 0) sms = std::min(sms, max_sms);
  const int64_t rows_per_block = kRowThreads / lanes;
  const int64_t wanted = (num_rows + rows_per_block - 1) / rows_per_block;
  return static_cast<unsigned>(std::min<int64_t>(wanted, int64_t{sms} * blocks_per_sm));
}

// The lanes of this thread's row, and the rows of a grid: which of them are this thread's.
struct RowLanes {
  int lane;
  int64_t first_row, stride;

  __device__ explicit RowLanes(int lanes)
      : lane(int(threadIdx.x) & (lanes - 1)),
        first_row((int64_t{blockIdx.x} * kRowThreads + threadIdx.x) / lanes),
        stride(int64_t{gridDim.x} * kRowThreads / lanes) {}
};

}  // namespace ramet
