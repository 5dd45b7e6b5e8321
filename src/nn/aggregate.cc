#include "ramet/aggregate.h"

#include <algorithm>
#include <atomic>
#include <string>

#include "base/parallel.h"
#include "kernels/cpu/aggregate.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// An output from here on is written past the caches, as a gather's.
constexpr int64_t kStreamedBytes = int64_t{32} << 20;
constexpr int64_t kLine = 64;
// Bytes of rows that a thread takes at once.
constexpr int64_t kGrain = int64_t{512} << 10;

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

int64_t width_of(const Array& rows) {
  int64_t width = 1;
  for (size_t d = 1; d < rows.shape.size(); ++d)
    width *= rows.shape[d];
  return width;
}

void check_rows(
    const Array& from, const char* name, int64_t least, const Array& out, int64_t rows) {
  if (from.rows() < least)
    throw_invalid(name, " has ", from.rows(), " rows, expected at least ", least);
  if (out.rows() != rows) throw_invalid("out has ", out.rows(), " rows, expected ", rows);
  if (out.dtype != from.dtype || width_of(out) != width_of(from))
    throw_invalid("out is ", out.describe(), ", but ", name, " is ", from.describe());
  if (!out.writable) throw_invalid("out is read-only");
}

// How many heads weights have; 1 without weights.
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

bool is_streamed(const Array& out, int64_t heads) {
  const bool whole_lines = reinterpret_cast<uintptr_t>(out.data) % uintptr_t{kLine} == 0 &&
                           out.row_bytes() / heads % kLine == 0;
  return whole_lines && out.bytes() >= kStreamedBytes;
}

// Runs the kernel over ranges of destinations that have about as many edges each. False where an
// offset or an index is out of range.
bool run(const AggregateArgs& args, AggregateKernel kernel, const Array& out, int threads) {
  const int64_t num_dst = out.rows();
  // Edges before a destination, and destinations: what its work begins with. Ascending, unless
  // offsets are damaged, and then any range will do.
  const auto begin_of = [&](int64_t work) {
    int64_t low = 0, high = num_dst;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (static_cast<uint64_t>(args.indptr[middle]) + static_cast<uint64_t>(middle) <
          static_cast<uint64_t>(work))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const int64_t row_bytes = std::max<int64_t>(out.row_bytes(), 1);
  const int64_t work = args.num_edges + num_dst;
  std::atomic<bool> is_good{true};
  parallel_for(work, std::max<int64_t>(1, kGrain / row_bytes), threads,
               [&](int64_t begin, int64_t end) {
                 const int64_t last = end == work ? num_dst : begin_of(end);
                 if (!kernel(args, begin_of(begin), last)) is_good = false;
               });
  return is_good;
}

// The weights of transposed edges: weight times 1 / (edges of the destination), where it counts.
template <typename T>
Array transposed_weights(const BlockEdges& edges,
                         const BlockEdges::Transposed& back,
                         const AggregateOptions& options,
                         int64_t heads) {
  Array result = BufferPool::shared()->allocate_array(kDTypeOf<T>, {edges.num_edges(), heads});
  const auto* weights =
      options.weights == nullptr ? nullptr : static_cast<const T*>(options.weights->data);
  const auto* indptr = static_cast<const int64_t*>(edges.indptr().data);
  const auto* destinations = static_cast<const int32_t*>(back.indices.data);
  const auto* positions = static_cast<const int32_t*>(back.edges.data);
  auto* const to = static_cast<T*>(result.data);
  constexpr int64_t kEdges = int64_t{32} << 10;
  parallel_for(edges.num_edges(), kEdges, options.threads, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const int64_t d = destinations[e];
      const T part =
          options.reduce == Reduce::kMean ? T{1} / static_cast<T>(indptr[d + 1] - indptr[d]) : T{1};
      for (int64_t h = 0; h < heads; ++h)
        to[e * heads + h] = weights == nullptr ? part : weights[positions[e] * heads + h] * part;
    }
  });
  return result;
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

}  // namespace

void aggregate(const BlockEdges& edges,
               const Array& x,
               const Array& out,
               const AggregateOptions& options) {
  const RowType type = row_type(x, "x");
  check_rows(x, "x", edges.num_src(), out, edges.num_dst());
  const int64_t heads = heads_of(options, x, edges.num_edges());
  const int64_t width = width_of(x);
  if (width == 0 || out.rows() == 0) return;
  const AggregateArgs args{.indptr = static_cast<const int64_t*>(edges.indptr().data),
                           .indices = static_cast<const int32_t*>(edges.indices().data),
                           .num_edges = edges.num_edges(),
                           .rows = x.data,
                           .num_rows = edges.num_src(),
                           .width = width,
                           .weights = options.weights == nullptr ? nullptr : options.weights->data,
                           .heads = heads,
                           .reduction = reduction_of(options.reduce),
                           .out = out.data,
                           .streamed = is_streamed(out, heads)};
  if (run(args, aggregate_kernel(type, width / heads), out, options.threads)) return;
  edges.check();
  throw_invalid("edges were written to during an aggregation");
}

void aggregate_back(const BlockEdges& edges,
                    const Array& grad,
                    const Array& out,
                    const AggregateOptions& options) {
  const RowType type = row_type(grad, "grad");
  if (options.reduce != Reduce::kSum && options.reduce != Reduce::kMean)
    throw_invalid("aggregate_back is for sums and means");
  check_rows(grad, "grad", edges.num_dst(), out, edges.num_src());
  const int64_t heads = heads_of(options, grad, edges.num_edges());
  const int64_t width = width_of(grad);
  if (width == 0 || out.rows() == 0) return;
  const BlockEdges::Transposed& back = edges.transposed(options.threads);
  Array weights;
  if (options.weights != nullptr || options.reduce == Reduce::kMean)
    weights = type == RowType::kFloat64 ? transposed_weights<double>(edges, back, options, heads)
                                        : transposed_weights<float>(edges, back, options, heads);
  const AggregateArgs args{.indptr = static_cast<const int64_t*>(back.indptr.data),
                           .indices = static_cast<const int32_t*>(back.indices.data),
                           .num_edges = edges.num_edges(),
                           .rows = grad.data,
                           .num_rows = edges.num_dst(),
                           .width = width,
                           .weights = weights.data,
                           .heads = heads,
                           .reduction = Reduction::kSum,
                           .out = out.data,
                           .streamed = is_streamed(out, heads)};
  if (!run(args, aggregate_kernel(type, width / heads), out, options.threads))
    throw_invalid("edges were written to during an aggregation");
}

}  // namespace ramet
