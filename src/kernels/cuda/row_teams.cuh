// Who works on a row of picks or in-edges: a warp, of which a thread block has several, each with a
// row of its own; and all of these on a row that is longer than a block of terms of a sum.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/block_sum.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {

inline constexpr unsigned kRowWarps = 16;  // of a block

struct WarpTeam {
  static constexpr unsigned kSize = kWarp;
  __device__ static unsigned thread() { return threadIdx.x % kWarp; }
  __device__ static void wait() { __syncwarp(); }
};

struct BlockTeam {
  static constexpr unsigned kSize = kRowWarps * kWarp;
  __device__ static unsigned thread() { return threadIdx.x; }
  __device__ static void wait() { __syncthreads(); }
};

// work(row, team) for the block's rows.
template <typename Work>
__device__ void for_each_row(const int64_t* offset, int64_t num_rows, const Work& work) {
  const int64_t begin = int64_t{blockIdx.x} * kRowWarps;
  const int64_t end = begin + kRowWarps < num_rows ? begin + kRowWarps : num_rows;
  const auto is_long = [&](int64_t row) { return offset[row + 1] - offset[row] > kSumBlock; };
  const int64_t own = begin + threadIdx.x / kWarp;
  if (own < end && !is_long(own)) work(own, WarpTeam());
  __syncthreads();
  for (int64_t row = begin; row < end; ++row)
    if (is_long(row)) work(row, BlockTeam());
}

// Starts a kernel that calls for_each_row().
template <typename... Parameters, typename... Arguments>
void launch_rows(const char* name,
                 void (*kernel)(Parameters...),
                 int64_t num_rows,
                 void* stream,
                 const Arguments&... arguments) {
  if (num_rows == 0) return;
  const auto blocks = static_cast<unsigned>((num_rows + kRowWarps - 1) / kRowWarps);
  launch(name, kernel, dim3(blocks), dim3(BlockTeam::kSize), static_cast<cudaStream_t>(stream),
         arguments...);
}

}  // namespace ramet
