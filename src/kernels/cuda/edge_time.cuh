// The time of an edge: its own, or its source's.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/sampling_device.cuh"

namespace ramet {

struct EdgeTime {
  int64_t value;
  bool is_good;  // not if the source is no node
};

__device__ inline EdgeTime time_of(const CudaCsc& edges, const CudaTimes& times, int64_t position) {
  if (times.of_edges != nullptr) return {__ldg(times.of_edges + position), true};
  const int64_t id = load_source_id(edges, position);
  if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(edges.num_src_nodes)) return {0, false};
  return {__ldg(times.of_sources + id), true};
}

__device__ inline bool contains(const CudaSpan& span, int64_t time) {
  return span.first <= time && time <= span.last;
}

}  // namespace ramet
