// Aggregation over the edges of a block, as in message passing between two layers, and its
// gradients. docs/semantics.md, section 20, defines every bit.
//
// Rows are arrays of float32, float64, bfloat16 or float16, C-contiguous, whose first extent counts
// rows; all others together are the elements of a row. Weights are [num_edges] or [num_edges,
// heads], float64 with rows of float64, else float32. With several heads, each weight multiplies
// its head's part of the row; heads divides the elements. Sums are float32 or float64, in the order
// of edges.
//
// Memory: the caller's; `out` overlaps no other array. Threads and forks: any; the bits do not
// depend on `threads` (the maximum; 0: all). Failure: kInvalidArgument for arrays that do not fit
// each other. For damaged edges, the errors of BlockEdges::check(), when `out` may have been
// written.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/array.h"
#include "ramet/block_edges.h"
#include "ramet/cuda.h"

namespace ramet {

enum class Reduce : uint8_t { kSum, kMean, kMax, kMin };

struct AggregateOptions {
  Reduce reduce = Reduce::kSum;
  const Array* weights = nullptr;  // of sums and means; nullptr: all 1
  int threads = 0;
  // For aggregate_in_one_pass(): the file that x fills from its begin, where it has no name.
  std::string path = {};
};

// out[d] = the sum of (weight times) x[s] over the edges (s, d), of at least num_src rows; divided
// by their number for kMean; or their maximum or minimum by element, which is NaN if any element
// is. 0 without edges.
void aggregate(const BlockEdges& edges,
               const Array& x,
               const Array& out,
               const AggregateOptions& options);

// The same, with x read once, from the first row that is needed to the last, and ahead of need: for
// a mapping that memory does not hold. A destination's edges are taken by piece of x, then in
// order: these are the bits of aggregate() where the sources of each destination ascend. x is
// float32 or float64. Takes 8 bytes an edge, and a copy of the weights, from the process's pool,
// and 16 MiB for parts of x.
void aggregate_in_one_pass(const BlockEdges& edges,
                           const Array& x,
                           const Array& out,
                           const AggregateOptions& options);

// The same sums on a device, whose arrays all are, on the stream: `indptr` is int64, `indices` are
// int32 rows of x (NaN for others), x is float32, float16 or bfloat16, `weights` (nullptr: all 1)
// and `out` are float32. kDevice, too, as cuda.h says.
void sum_on_device(const Array& indptr,
                   const Array& indices,
                   const Array& x,
                   const Array* weights,
                   const Array& out,
                   CudaStreamHandle stream);

// out[s] = the sum of grad[d] over the edges (s, d), times the weight, and for kMean times 1 /
// (edges of d): the gradient of aggregate()'s x for kSum and kMean, from the gradient of its
// result. `out` has num_src rows.
void aggregate_back(const BlockEdges& edges,
                    const Array& grad,
                    const Array& out,
                    const AggregateOptions& options);

// out[e, h] = the product of dst_rows[d] and src_rows[s] for each edge e = (s, d), head by head:
// sum over the elements of head h. With `is_mean` it is divided by the edges of d. So it is the
// gradient of aggregate()'s weights, if dst_rows is the gradient of its result. `out` has the shape
// of the weights.
struct EdgeDotsOptions {
  bool is_mean = false;
  int threads = 0;
};
void edge_dots(const BlockEdges& edges,
               const Array& dst_rows,
               const Array& src_rows,
               const Array& out,
               const EdgeDotsOptions& options);

// The gradient of x from the gradient of its maxima or minima, `reduced`, in two steps. If several
// edges of a destination have the extreme, they share the gradient evenly. If the extreme is NaN,
// all get NaN. out[d] = grad[d] / (the number of edges (s, d) with x[s] == reduced[d]), element by
// element.
void share_extremes(const BlockEdges& edges,
                    const Array& x,
                    const Array& reduced,
                    const Array& grad,
                    const Array& out,
                    int threads);
// out[s] = the sum of shared[d] over the edges (s, d) with x[s] == reduced[d], element by element.
// `out` has num_src rows.
void extremes_back(const BlockEdges& edges,
                   const Array& x,
                   const Array& reduced,
                   const Array& shared,
                   const Array& out,
                   int threads);

}  // namespace ramet
