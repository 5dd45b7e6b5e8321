#include "ramet/aggregate.h"

#include "aggregation.h"
#include "base/parallel.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// What rows of destinations are multiplied by when they are pulled back: nothing; or, by row,
// 1 / (edges of the destination); or, by transposed edge, its weight, for means times that.
struct BackWeights {
  Array by_row, by_edge;
};

template <typename T>
Array shares(const BlockEdges& edges) {
  Array result = BufferPool::shared()->allocate_array(kDTypeOf<T>, {edges.num_dst()});
  const auto* indptr = static_cast<const int64_t*>(edges.indptr().data);
  auto* const to = static_cast<T*>(result.data);
  for (int64_t d = 0; d < edges.num_dst(); ++d)
    to[d] = T{1} / static_cast<T>(indptr[d + 1] - indptr[d]);
  return result;
}

template <typename T>
Array weights_by_edge(const BlockEdges& edges,
                      const BlockEdges::Transposed& back,
                      const Array& weights,
                      const Array& by_row,
                      int threads) {
  Array result = BufferPool::shared()->allocate_array(kDTypeOf<T>, weights.shape);
  const int64_t heads = width_of(weights);
  const auto* destinations = static_cast<const int32_t*>(back.indices.data);
  const auto* positions = static_cast<const int32_t*>(back.edges.data);
  const auto* from = static_cast<const T*>(weights.data);
  const auto* parts = static_cast<const T*>(by_row.data);
  auto* const to = static_cast<T*>(result.data);
  constexpr int64_t kEdges = int64_t{32} << 10;
  parallel_for(edges.num_edges(), kEdges, threads, [&](int64_t begin, int64_t end) {
    for (int64_t e = begin; e < end; ++e) {
      const T part = parts == nullptr ? T{1} : parts[destinations[e]];
      for (int64_t h = 0; h < heads; ++h)
        to[e * heads + h] = from[positions[e] * heads + h] * part;
    }
  });
  return result;
}

template <typename T>
BackWeights back_weights(const BlockEdges& edges,
                         const BlockEdges::Transposed& back,
                         const AggregateOptions& options) {
  BackWeights result;
  if (options.reduce == Reduce::kMean) result.by_row = shares<T>(edges);
  if (options.weights != nullptr) {
    result.by_edge =
        weights_by_edge<T>(edges, back, *options.weights, result.by_row, options.threads);
    result.by_row = {};
  }
  return result;
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
  if (run_kernel(args, aggregate_kernel(type, width / heads), out, options.threads)) return;
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
  const BackWeights weights = type == RowType::kFloat64 ? back_weights<double>(edges, back, options)
                                                        : back_weights<float>(edges, back, options);
  const AggregateArgs args{.indptr = static_cast<const int64_t*>(back.indptr.data),
                           .indices = static_cast<const int32_t*>(back.indices.data),
                           .num_edges = edges.num_edges(),
                           .rows = grad.data,
                           .num_rows = edges.num_dst(),
                           .width = width,
                           .weights = weights.by_edge.data,
                           .heads = heads,
                           .row_weights = weights.by_row.data,
                           .reduction = Reduction::kSum,
                           .out = out.data,
                           .streamed = is_streamed(out, heads)};
  if (!run_kernel(args, aggregate_kernel(type, width / heads), out, options.threads))
    throw_invalid("edges were written to during an aggregation");
}

}  // namespace ramet
