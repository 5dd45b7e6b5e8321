// What all aggregations share: checks of rows and weights, and a kernel's work on several threads.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "kernels/cpu/aggregate.h"
#include "ramet/aggregate.h"
#include "ramet/table.h"

namespace ramet {

// The elements of a row.
[[nodiscard]] int64_t width_of(const Array& rows);

// kInvalidArgument, naming the array `what`, unless rows are of a type that is aggregated.
[[nodiscard]] RowType row_type(const Array& rows, const char* what);

// The type of the weights of such rows, and of their products.
[[nodiscard]] DType weight_type(const Array& rows);

// kInvalidArgument unless `from` has at least as many rows, and `out` exactly as many rows of the
// same type and width, to be written to.
void check_rows(
    const Array& from, const char* name, int64_t least, const Array& out, int64_t num_out);

// How many heads the weights have; 1 without weights. kInvalidArgument unless they fit rows like
// these.
[[nodiscard]] int64_t heads_of(const AggregateOptions& options,
                               const Array& rows,
                               int64_t num_edges);

// What rows of a table become in `out`: decoded, or as stored. kInvalidArgument where they do not.
[[nodiscard]] TableRowType table_row_type(const Table& table, const Array& out);

// kInvalidArgument, naming the array `what`, for rows with more columns than a grid has.
void require_columns_of_device(const Array& rows, const char* what);

// Whether results are written past the caches.
[[nodiscard]] bool is_streamed(const Array& out, int64_t heads);

[[nodiscard]] Reduction reduction_of(Reduce reduce);

// Calls body(begin, end) for ranges of destinations that have about as many edges each, so that a
// range reads some hundred KiB where an edge reads `edge_bytes`. False where a body returns false:
// an offset or an index is out of range.
[[nodiscard]] bool for_each_range(const int64_t* indptr,
                                  int64_t num_dst,
                                  int64_t num_edges,
                                  int64_t edge_bytes,
                                  int threads,
                                  FunctionRef<bool(int64_t, int64_t)> body);

// The same of a kernel.
[[nodiscard]] bool run_kernel(const AggregateArgs& args,
                              AggregateKernel kernel,
                              const Array& out,
                              int threads);

}  // namespace ramet
