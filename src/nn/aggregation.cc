#include "aggregation.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// An output from here on is written past the caches, as a gather's.
constexpr int64_t kStreamedBytes = int64_t{32} << 20;
constexpr int64_t kLine = 64;
// Bytes of rows that a thread takes at once.
constexpr int64_t kBytesAtOnce = int64_t{512} << 10;

}  // namespace

RowType row_type(const Array& rows, const char* what) {
  switch (rows.dtype) {
    case DType::kFloat32:
      return RowType::kFloat32;
    case DType::kFloat64:
      return RowType::kFloat64;
    case DType::kBFloat16:
      return RowType::kBFloat16;
    case DType::kFloat16:
      return RowType::kFloat16;
    default:
      throw_invalid(what, " is ", rows.describe(),
                    ", expected float32, float64, bfloat16 or float16");
  }
}

DType weight_type(const Array& rows) {
  return rows.dtype == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
}

void check_rows(
    const Array& from, const char* name, int64_t least, const Array& out, int64_t num_out) {
  if (from.rows() < least)
    throw_invalid(name, " has ", from.rows(), " rows, expected at least ", least);
  if (out.rows() != num_out) throw_invalid("out has ", out.rows(), " rows, expected ", num_out);
  if (out.dtype != from.dtype || width_of(out) != width_of(from))
    throw_invalid("out is ", out.describe(), ", but ", name, " is ", from.describe());
  if (!out.writable) throw_invalid("out is read-only");
}

int64_t width_of(const Array& rows) {
  int64_t width = 1;
  for (size_t d = 1; d < rows.shape.size(); ++d)
    width *= rows.shape[d];
  return width;
}

int64_t heads_of(const AggregateOptions& options, const Array& rows, int64_t num_edges) {
  if (options.weights == nullptr) return 1;
  const Array& weights = *options.weights;
  if (options.reduce == Reduce::kMax || options.reduce == Reduce::kMin)
    throw_invalid("weights are given for a maximum or minimum, which has none");
  if (weights.dtype != weight_type(rows) || weights.shape.size() > 2 || weights.rows() != num_edges)
    throw_invalid("weights are ", weights.describe(), ", expected ", name(weight_type(rows)), "[",
                  num_edges, "] or [", num_edges, ", heads]");
  const int64_t heads = weights.shape.size() == 2 ? weights.shape[1] : 1;
  if (heads < 1 || width_of(rows) % heads != 0)
    throw_invalid("weights have ", heads, " heads, which do not divide the ", width_of(rows),
                  " elements of a row");
  return heads;
}

void require_columns_of_device(const Array& rows, const char* what) {
  constexpr int64_t kMost = int64_t{1} << 21;  // a grid has 65,535 warps of them in a row
  if (width_of(rows) > kMost)
    throw_invalid(what, " is ", rows.describe(), ", expected at most ", kMost,
                  " elements in a row");
}

bool is_streamed(const Array& out, int64_t heads) {
  const bool whole_lines = reinterpret_cast<uintptr_t>(out.data) % uintptr_t{kLine} == 0 &&
                           out.row_bytes() / heads % kLine == 0;
  return whole_lines && out.bytes() >= kStreamedBytes;
}

Reduction reduction_of(Reduce reduce) {
  switch (reduce) {
    case Reduce::kSum:
      return Reduction::kSum;
    case Reduce::kMean:
      return Reduction::kMean;
    case Reduce::kMax:
      return Reduction::kMax;
    case Reduce::kMin:
      return Reduction::kMin;
  }
  return Reduction::kSum;
}

bool for_each_range(const int64_t* indptr,
                    int64_t num_dst,
                    int64_t num_edges,
                    int64_t edge_bytes,
                    int threads,
                    FunctionRef<bool(int64_t, int64_t)> body) {
  // Edges before a destination, and destinations: what its work begins with. Ascending, unless
  // offsets are damaged, and then any range will do.
  const auto begin_of = [&](int64_t work) {
    int64_t low = 0, high = num_dst;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (static_cast<uint64_t>(indptr[middle]) + static_cast<uint64_t>(middle) <
          static_cast<uint64_t>(work))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const int64_t work = num_edges + num_dst;
  const int64_t grain = std::max<int64_t>(1, kBytesAtOnce / std::max<int64_t>(edge_bytes, 1));
  std::atomic<bool> is_good{true};
  parallel_for(work, grain, threads, [&](int64_t begin, int64_t end) {
    const int64_t last = end == work ? num_dst : begin_of(end);
    if (!body(begin_of(begin), last)) is_good = false;
  });
  return is_good;
}

bool run_kernel(const AggregateArgs& args, AggregateKernel kernel, const Array& out, int threads) {
  return for_each_range(args.indptr, out.rows(), args.num_edges, out.row_bytes(), threads,
                        [&](int64_t begin, int64_t end) { return kernel(args, begin, end); });
}

}  // namespace ramet
