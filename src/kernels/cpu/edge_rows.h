// What gradients of aggregations need beside sums: the rows of an edge's two ends against each
// other. The same bits from all instruction sets, as in aggregate.h; docs/semantics.md, section 20.
#pragma once

#include <cstdint>

#include "aggregate.h"

namespace ramet {

struct EdgeRowsArgs {
  const int64_t* indptr = nullptr;   // of each destination: where its edges begin, and end
  const int32_t* indices = nullptr;  // num_edges: the row of each edge's source
  int64_t num_edges = 0;
  int64_t num_rows = 0;        // of sources
  int64_t width = 0;           // elements of a row
  int64_t heads = 1;           // divides `width`
  bool is_mean = false;        // results are divided by the destination's number of edges
  const void* own = nullptr;   // a row for each destination
  const void* rows = nullptr;  // rows of sources
  const void* second =
      nullptr;          // further ones: of sources for `matches`, of destinations for `ties`
  void* out = nullptr;  // overlaps nothing of the above
};

// As AggregateKernel.
using EdgeRowsKernel = bool (*)(const EdgeRowsArgs& args, int64_t begin, int64_t end);

struct EdgeRowsKernels {
  int64_t lanes = 0;  // which rows have at least, for `ties` and `matches`
  // out[e, h] = the product of head h of own[d] and of rows[s], for each edge e = (s, d); float64
  // for rows of float64, else float32.
  EdgeRowsKernel dots = nullptr;
  // out[d] = second[d] / (the number of edges for which rows[s] == own[d]), element by element; NaN
  // where own[d] is.
  EdgeRowsKernel ties = nullptr;
  // out[d] = the sum of second[s] over the edges for which rows[s] == own[d], or one of them is a
  // NaN, element by element.
  EdgeRowsKernel matches = nullptr;
};

// The best that this machine's instructions offer for rows of so many elements; for `dots` alone.
[[nodiscard]] EdgeRowsKernels edge_rows_kernels(RowType type, int64_t width = INT64_MAX);

[[nodiscard]] EdgeRowsKernels edge_rows_single(RowType type);  // for any width
[[nodiscard]] EdgeRowsKernels edge_rows_portable(RowType type);

}  // namespace ramet
