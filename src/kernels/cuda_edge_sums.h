// The kernels of the CUDA seam (cuda_backend.h) for the edges of a block: sums of rows over them,
// and their transpose.
#pragma once

#include <cstdint>

#include "kernels/cuda_sampling.h"
#include "ramet/array.h"

namespace ramet {

// out[d] = the sum of weights[e] x[indices[e]] over e in [indptr[d], indptr[d + 1]), in this order,
// from +0, in float32, without fused multiplications; divided by the number of edges for a mean,
// and rounded to the dtype of `out` once. All in device memory.
struct CudaEdgeSumArgs {
  const int64_t* indptr;   // [num_dst + 1]
  const int32_t* indices;  // [num_edges]: rows of x; for one outside of x the sum is NaN
  int64_t num_dst, num_edges;
  const void* x;  // [num_rows, width]
  DType dtype;    // float32, float16, bfloat16, or int8 with a scale
  int64_t num_rows, width;
  // [num_ids], of a table: edge e has row ids[indices[e]] of x. nullptr: row indices[e].
  const int64_t* ids = nullptr;
  int64_t num_ids = 0;
  // Of int8 that is multiplied by it: [num_rows] by row, else [width].
  const float* scale = nullptr;
  bool scales_rows = false;
  // [num_edges, heads], each for width / heads columns; nullptr: all are 1.
  const float* weights = nullptr;
  int64_t heads = 1;
  bool is_mean = false;
  void* out;        // [num_dst, width]
  DType out_dtype;  // float32, or `dtype` of floats
};

// The same edges by source; those of a source in their order.
struct CudaTransposeArgs {
  const int64_t* indptr;  // [num_dst + 1]
  int64_t num_dst;
  const int32_t* indices;  // [num_edges], of a sampler: below num_src
  int64_t num_edges, num_src;
  uint32_t* placed;  // scratch: num_src, all zero before
  CudaScratch scan;
  int64_t* by_source;     // [num_src + 1], all zero before: where a source's edges begin
  int32_t* destinations;  // [num_edges]
  int32_t* edges;         // [num_edges]: their numbers
};

}  // namespace ramet
