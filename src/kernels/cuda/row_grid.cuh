// How many blocks a kernel over rows gets: those that run at once, each taking rows until there are
// no more; or as many as multiprocessors may be used, one on each (bus_limit.h).
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/bus_limit.h"
#include "kernels/cuda/check.h"

namespace ramet {

constexpr int kRowThreads = 256;

struct RowGrid {
  dim3 blocks, threads;
};

inline int num_sms(int device) {
  int sms = 0;
  check_cuda(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device),
             "counting multiprocessors");
  return sms;
}

// For `num_rows` rows of `lanes` threads each, on the current device. max_sms <= 0: no limit.
template <typename Kernel>
RowGrid row_grid(Kernel kernel, int device, int64_t num_rows, int lanes, int max_sms) {
  const int threads = max_sms > 0 ? kLimitedThreads : kRowThreads;
  int blocks_per_sm = 1;
  if (max_sms <= 0)
    check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks_per_sm, kernel, threads, 0),
               "asking how many blocks a multiprocessor holds");
  const int all = num_sms(device), sms = max_sms > 0 ? std::min(all, max_sms) : all;
  const int64_t rows_per_block = threads / lanes;
  const int64_t wanted = (num_rows + rows_per_block - 1) / rows_per_block;
  return {dim3(static_cast<unsigned>(std::min<int64_t>(wanted, int64_t{sms} * blocks_per_sm))),
          dim3(static_cast<unsigned>(threads))};
}

// The lanes of this thread's row, and the rows of a grid: which of them are this thread's.
struct RowLanes {
  int lane;
  int64_t first_row, stride;

  __device__ explicit RowLanes(int lanes)
      : lane(int(threadIdx.x) & (lanes - 1)),
        first_row((int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / lanes),
        stride(int64_t{gridDim.x} * blockDim.x / lanes) {}
};

}  // namespace ramet
