// Sums over rows of picks or in-edges, with the bits of base/block_sum.h: a warp adds up a block of
// terms.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/block_sum.h"
#include "kernels/cuda/row_teams.cuh"

namespace ramet {

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

// The terms of a row, by its team, whose threads all get the sums.
template <typename TermOf>
__device__ RowSum sum_row(
    RowSumMemory& memory, WarpTeam /*team*/, int64_t begin, int64_t end, const TermOf& term_of) {
  return add_in_order(memory, begin, end, term_of);
}

template <typename TermOf>
__device__ RowSum
sum_row(RowSumMemory& memory, BlockTeam team, int64_t begin, int64_t end, const TermOf& term_of) {
  const unsigned warp = threadIdx.x / kWarp;
  RowSum result{0, 0};
  for (int64_t first = begin; first < end; first += kRowWarps * kSumBlock) {
    const int64_t from = first + warp * kSumBlock, to = from + kSumBlock;
    const RowSum mine = add_in_order(memory, from, to < end ? to : end, term_of);
    if (threadIdx.x % kWarp == 0) memory.of_warp[warp] = mine;
    team.wait();
    for (const RowSum& other : memory.of_warp) {
      result.sum += other.sum;
      result.num_left_out += other.num_left_out;
    }
    team.wait();
  }
  return result;
}

}  // namespace ramet
