// Aggregation of rows over edges: what a range of destinations gets from the rows of its sources.
//
// Every element is computed by +, *, / and comparisons alone, in the order of edges, each rounded
// as IEEE 754 says: float32 for rows of float32, bfloat16 and float16, float64 for rows of float64,
// rounded to the rows' type once, at the end. So all instruction sets give the same bits;
// docs/semantics.md, section 20.
#pragma once

#include <cstdint>

namespace ramet {

enum class Reduction : uint8_t { kSum, kMean, kMax, kMin };

enum class RowType : uint8_t { kFloat32, kFloat64, kBFloat16, kFloat16 };

// Of a table: its elements, and what they become. Decoded and scaled ones come as float32.
enum class TableRowType : uint8_t {
  kFloat32,
  kBFloat16,
  kFloat16,
  kDecodedBFloat16,
  kDecodedFloat16,
  kInt8ScaledByRow,
  kInt8ScaledByColumn,
};

struct AggregateArgs {
  const int64_t* indptr = nullptr;   // of each destination: where its edges begin, and end
  const int32_t* indices = nullptr;  // num_edges: the row of each edge's source
  int64_t num_edges = 0;
  const void* rows = nullptr;  // num_rows of `width` elements
  int64_t num_rows = 0;
  int64_t width = 0;
  // Of a table, `rows`: num_rows row numbers, those of the sources, which have been checked; and
  // the scale of int8, one for each row of the table, or for each element of a row.
  const int64_t* ids = nullptr;
  const float* scale = nullptr;
  // [num_edges, heads] that rows are multiplied by, head by head; float64 with rows of float64,
  // else float32. For kSum and kMean; nullptr: all 1.
  const void* weights = nullptr;
  int64_t heads = 1;  // divides `width`
  // num_rows that rows of arrays are multiplied by, in the place of weights; of their type.
  const void* row_weights = nullptr;
  Reduction reduction = Reduction::kSum;
  void* out = nullptr;  // a row for each destination; overlaps nothing of the above
  // The row of `out` of each destination, which holds what came before: results go on from there.
  // nullptr: its own, which is only written. For an adding_kernel(), but not for kMean.
  const int32_t* targets = nullptr;
  // Whether `out` is written past the caches. Then its rows, and their heads, are whole lines of 64
  // bytes.
  bool streamed = false;
};

// Destinations [begin, end). Offsets and indices are compared with their bounds before they are
// used. Returns false at the first destination that has a bad one; those before it are written.
// Does not throw.
using AggregateKernel = bool (*)(const AggregateArgs& args, int64_t begin, int64_t end);

// The best that this machine's instructions offer for rows whose heads have so many elements.
[[nodiscard]] AggregateKernel aggregate_kernel(RowType type, int64_t head_width);

[[nodiscard]] AggregateKernel aggregate_kernel(TableRowType type, int64_t head_width);

// The best that reads and writes each element of `out` once, as `targets` needs.
[[nodiscard]] AggregateKernel adding_kernel(RowType type, int64_t head_width);

// A vector is `lanes` elements, and heads have as many at least.
struct AggregateKernels {
  int64_t lanes = 0;
  AggregateKernel aggregate = nullptr;
};
[[nodiscard]] AggregateKernels aggregate_portable(RowType type);
[[nodiscard]] AggregateKernels aggregate_single(RowType type);  // for any width

// The same of a table.
[[nodiscard]] AggregateKernels aggregate_portable(TableRowType type);
[[nodiscard]] AggregateKernels aggregate_single(TableRowType type);

}  // namespace ramet
