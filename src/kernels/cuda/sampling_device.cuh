// What the sampling kernels share.
#pragma once

#include <cuda_runtime.h>

#include "base/dependent_lanes.h"
#include "base/lanes_scalar.h"
#include "kernels/cuda/device_scope.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda_sampling.h"

namespace ramet {

inline constexpr unsigned kThreads = 256;
inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// Starts a thread for each of `count` items, in blocks of kThreads.
template <typename... Parameters, typename... Arguments>
void launch_each(const char* name,
                 void (*kernel)(Parameters...),
                 int64_t count,
                 void* stream,
                 const Arguments&... arguments) {
  if (count == 0) return;
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  launch(name, kernel, dim3(blocks), dim3(kThreads), static_cast<cudaStream_t>(stream),
         arguments...);
}

__device__ inline int64_t thread_number() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline void record_bad(uint64_t* bad, int64_t number) {
  atomicMin(reinterpret_cast<unsigned long long*>(bad), static_cast<unsigned long long>(number));
}

// The t-th random word of `keys`.
__device__ inline uint64_t draw(const DrawKeys& keys, const NormalTables& tables, uint64_t t) {
  const uint64_t now = absorb(keys.now, t);
  if (keys.mixture.plain) return now;
  return dependent_lanes<Scalar>(now, absorb(keys.next, t), keys.mixture, tables);
}

__device__ inline int64_t draw_below(const DrawKeys& keys,
                                     const NormalTables& tables,
                                     int64_t t,
                                     int64_t n) {
  const uint64_t word = draw(keys, tables, static_cast<uint64_t>(t));
  return static_cast<int64_t>(uniform_below(word, static_cast<uint64_t>(n)));
}

__device__ inline int64_t load_id(const void* ids, bool wide, int64_t i) {
  return wide ? __ldg(static_cast<const int64_t*>(ids) + i)
              : __ldg(static_cast<const int32_t*>(ids) + i);
}

__device__ inline void store_position(const CudaPositions& positions, int64_t i, int64_t position) {
  if (positions.wide) {
    static_cast<int64_t*>(positions.data)[i] = position;
  } else {
    static_cast<int32_t*>(positions.data)[i] = static_cast<int32_t>(position);
  }
}

// The row that entry e is in, one of [low, high]: the last that begins at or before e.
__device__ inline int64_t row_between(const int64_t* offset, int64_t low, int64_t high, int64_t e) {
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (offset[middle] <= e) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// The row of the thread's own entry, thread_number(): threads share long rows, and the rows of a
// block are few, so that its first and last thread search them all, the others between these two.
// Every thread of the block must call it, once in a kernel; there is at least one row.
__device__ inline int64_t row_of_thread(const int64_t* offset, int64_t num_rows) {
  __shared__ int64_t first_and_last[2];
  const int64_t e = thread_number();
  const bool is_last = threadIdx.x == blockDim.x - 1;
  if (threadIdx.x == 0 || is_last)
    first_and_last[is_last ? 1 : 0] = row_between(offset, 0, num_rows - 1, e);
  __syncthreads();
  return row_between(offset, first_and_last[0], first_and_last[1], e);
}

// The sum of value(e) over [begin, end), with the bits of one that is added in this order: the
// lanes of the warp load and divide a few each, which takes the time, and all of them then add
// these one after the other, out of shared memory. All lanes together call it, and value(), for
// entries from `end` on, too. +0 changes no bit of a sum that is not negative.
template <typename Value>
__device__ double sum_in_order(int64_t begin, int64_t end, const Value& value) {
  constexpr int64_t kTile = 4 * kWarp;  // four loads of a lane are in flight at once
  __shared__ double tiles[kThreads / kWarp][kTile];
  double* tile = tiles[threadIdx.x / kWarp];
  double sum = 0;
  for (int64_t first = begin; first < end; first += kTile) {
    for (int64_t at = threadIdx.x % kWarp; at < kTile; at += kWarp)
      tile[at] = value(first + at);
    __syncwarp();
    const int64_t size = end - first < kTile ? end - first : kTile;
    for (int64_t at = 0; at < size; ++at)
      sum += tile[at];
    __syncwarp();
  }
  return sum;
}

}  // namespace ramet
