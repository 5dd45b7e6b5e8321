// What the kernels over named rows share: the values that are listed for an element of a row, and
// elements of every dtype as their kernels compute with them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "base/narrow_value.h"
#include "kernels/cuda/row_grid.cuh"
#include "kernels/cuda_named_rows.h"

namespace ramet {

// A stored element and the type that sums of it have.
template <typename T>
struct PlainElement {
  using Stored = T;
  using Value = T;
  __device__ static T load(T stored) { return stored; }
  __device__ static T store(T value) { return value; }
};

struct HalfElement {
  using Stored = uint16_t;
  using Value = float;
  __device__ static float load(uint16_t bits) { return from_half(bits); }
  __device__ static uint16_t store(float value, uint32_t = 0) {
    return to_half<NearestBits>(value, 0);
  }
  __device__ static uint16_t store_either(float value, uint32_t random) {
    return to_half<StochasticBits>(value, random);
  }
};

struct BFloat16Element {
  using Stored = uint16_t;
  using Value = float;
  __device__ static float load(uint16_t bits) { return from_bfloat16(bits); }
  __device__ static uint16_t store(float value, uint32_t = 0) {
    return to_bfloat16<NearestBits>(value, 0);
  }
  __device__ static uint16_t store_either(float value, uint32_t random) {
    return to_bfloat16<StochasticBits>(value, random);
  }
};

// Row `position` of all lists.
struct CudaListedRow {
  const CudaListedRows* list;
  int64_t row;  // of the list
};

__device__ inline CudaListedRow find_listed(const CudaNamedRows& named, uint32_t position) {
  int low = 0;
  for (int high = named.num_lists; high - low > 1;) {
    const int middle = (low + high) / 2;
    (named.lists[middle].first <= position ? low : high) = middle;
  }
  return {named.lists + low, position - named.lists[low].first};
}

// Which distinct rows a warp has: its lanes share the columns of each.
struct WarpRows {
  int lane = int(threadIdx.x) % kWarpLanes;
  int64_t first = (int64_t{blockIdx.x} * kRowThreads + threadIdx.x) / kWarpLanes;
  int64_t stride = int64_t{gridDim.x} * kRowThreads / kWarpLanes;
};

}  // namespace ramet
