// The kernel of the CUDA seam (cuda_backend.h) that sums rows over edges.
#pragma once

#include <cstdint>

#include "ramet/array.h"

namespace ramet {

// out[d] = the sum of weights[e] x[indices[e]] over e in [indptr[d], indptr[d + 1]), in this order,
// from +0, in float32, without fused multiplications. All in device memory.
struct CudaEdgeSumArgs {
  const int64_t* indptr;   // [num_dst + 1]
  const int32_t* indices;  // [num_edges]: rows of x; for one outside of x the sum is NaN
  int64_t num_dst, num_edges;
  const void* x;  // [num_rows, width]
  DType dtype;    // float32, float16 or bfloat16
  int64_t num_rows, width;
  const float* weights;  // [num_edges, heads], each for width / heads columns; nullptr: all are 1
  int64_t heads;
  float* out;  // [num_dst, width]
};

}  // namespace ramet
