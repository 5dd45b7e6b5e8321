// A thread for each in-edge, whatever row it is in; a warp's answers are a word of marks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/sampling_device.cuh"

namespace ramet {

struct InEdge {
  int64_t row, number, position;
};

__device__ inline InEdge edge_at(const CudaRows& rows, int64_t e) {
  const int64_t row = row_of(rows.offset, rows.first_row, e);
  return {row, e, position_of(rows, row, e)};
}

// `accepts` decides about an InEdge.
template <typename Accepts>
__device__ void mark_accepted(const CudaMarkArgs& args, Accepts accepts) {
  const int64_t e = thread_number();
  bool accepted = false;
  if (e < args.num_edges) accepted = accepts(edge_at(args.rows, e));
  const unsigned word = __ballot_sync(kAllLanes, accepted);
  if (threadIdx.x % kWarp == 0) args.marks[e / kWarp] = word;
}

}  // namespace ramet
