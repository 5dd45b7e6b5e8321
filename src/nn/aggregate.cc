#include "ramet/aggregate.h"

#include "aggregation.h"
#include "base/parallel.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {
namespace {

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
  if (!run_kernel(args, aggregate_kernel(type, width / heads), out, options.threads))
    throw_invalid("edges were written to during an aggregation");
}

}  // namespace ramet
