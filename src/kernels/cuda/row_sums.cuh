// Sums over rows of picks or in-edges, with the bits of base/block_sum.h: a warp adds up a row of
// one block of terms; a longer row is the work of all warps of a thread block, a block of terms
// each.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/block_sum.h"
#include "kernels/cuda/sampling_device.cuh"

namespace ramet {

inline constexpr unsigned kRowWarps = 16;  // of a block, each with a row of its own

// What a number adds to a sum, or that it is left out.
struct Term {
  double value;
  bool is_left_out;
};

struct RowSum {
  double sum;
  int64_t num_left_out;
};

struct RowSumMemory {
  static constexpr int kTile = 4 * kWarp;  // four loads of a lane are in flight at once
  double tiles[kRowWarps][kTile];
  RowSum of_warp[kRowWarps];
};

// By a warp: the terms of [begin, end), added in this order. The lanes load and divide a few each,
// which takes the time, and all of them then add these one after the other, out of shared memory.
// +0 changes no bit of a sum that is not negative.
template <typename TermOf>
__device__ RowSum
add_in_order(RowSumMemory& memory, int64_t begin, int64_t end, const TermOf& term_of) {
  double* tile = memory.tiles[threadIdx.x / kWarp];
  RowSum result{0, 0};
  for (int64_t first = begin; first < end; first += memory.kTile) {
    for (int at = int(threadIdx.x % kWarp); at < memory.kTile; at += kWarp) {
      const int64_t e = first + at;
      const Term term = e < end ? term_of(e) : Term{0, false};
      tile[at] = term.is_left_out ? 0 : term.value;
      result.num_left_out += __popc(__ballot_sync(kAllLanes, term.is_left_out));
    }
    __syncwarp();
    const int size = end - first < memory.kTile ? static_cast<int>(end - first) : memory.kTile;
    for (int at = 0; at < size; ++at)
      result.sum += tile[at];
    __syncwarp();
  }
  return result;
}

// Who works on a row. All threads of a team get the same sums.
struct WarpTeam {
  RowSumMemory& memory;

  static constexpr unsigned kSize = kWarp;
  __device__ static unsigned thread() { return threadIdx.x % kWarp; }
  // At most kSumBlock terms.
  template <typename TermOf>
  __device__ RowSum sum(int64_t begin, int64_t end, const TermOf& term_of) const {
    return add_in_order(memory, begin, end, term_of);
  }
};

struct BlockTeam {
  RowSumMemory& memory;

  static constexpr unsigned kSize = kRowWarps * kWarp;
  __device__ static unsigned thread() { return threadIdx.x; }
  template <typename TermOf>
  __device__ RowSum sum(int64_t begin, int64_t end, const TermOf& term_of) const {
    const unsigned warp = threadIdx.x / kWarp;
    RowSum result{0, 0};
    for (int64_t first = begin; first < end; first += kRowWarps * kSumBlock) {
      const int64_t from = first + warp * kSumBlock, to = from + kSumBlock;
      const RowSum mine = add_in_order(memory, from, to < end ? to : end, term_of);
      if (threadIdx.x % kWarp == 0) memory.of_warp[warp] = mine;
      __syncthreads();
      for (const RowSum& other : memory.of_warp) {
        result.sum += other.sum;
        result.num_left_out += other.num_left_out;
      }
      __syncthreads();
    }
    return result;
  }
};

// work(row, team) for the block's rows.
template <typename Work>
__device__ void for_each_row(RowSumMemory& memory,
                             const int64_t* offset,
                             int64_t num_rows,
                             const Work& work) {
  const int64_t begin = int64_t{blockIdx.x} * kRowWarps;
  const int64_t end = begin + kRowWarps < num_rows ? begin + kRowWarps : num_rows;
  const auto is_long = [&](int64_t row) { return offset[row + 1] - offset[row] > kSumBlock; };
  const int64_t own = begin + threadIdx.x / kWarp;
  if (own < end && !is_long(own)) work(own, WarpTeam{memory});
  __syncthreads();
  for (int64_t row = begin; row < end; ++row)
    if (is_long(row)) work(row, BlockTeam{memory});
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
