// The scores of GATv2. The gradient of `att` is a sum over all edges: each chunk of work has one of
// its own, and these are added in order.
#include "kernels/cpu/attention.h"
#include "nn/edge_work.h"
#include "ramet/attention.h"
#include "ramet/buffer_pool.h"

namespace ramet {
namespace {

struct Shape {
  int64_t heads, width;
};

Shape check(const BlockEdges& edges, const Gatv2Scores& scores, const Array& per_edge) {
  const DType dtype = scores.att.dtype;
  if (scores.att.shape.size() != 2)
    throw_invalid("att is ", scores.att.describe(), ", expected [heads, channels]");
  const int64_t heads = scores.att.shape[0], width = scores.att.shape[1];
  require_rows("source", scores.source, dtype, {edges.num_src(), heads, width});
  require_shape("destination", scores.destination, dtype, {edges.num_dst(), heads, width});
  if (scores.edge.data != nullptr)
    require_shape("edge", scores.edge, dtype, {edges.num_edges(), heads, width});
  require_shape("the scores or their gradient", per_edge, dtype, {edges.num_edges(), heads});
  return {heads, width};
}

template <typename T>
Gatv2Args<T> args_of(const Gatv2Scores& scores, const Shape& shape, const EdgeWork& work) {
  return {.edges = work.lists(),
          .heads = shape.heads,
          .width = shape.width,
          .source = data_of<T>(scores.source),
          .destination = data_of<T>(scores.destination),
          .edge = data_of<T>(scores.edge),
          .att = data_of<T>(scores.att),
          .slope = static_cast<T>(scores.negative_slope)};
}

// Gradients of all but the sources.
template <typename T>
void push(const BlockEdges& edges,
          const Gatv2Scores& scores,
          const Shape& shape,
          const Array& grad,
          const Gatv2Scores& out,
          int threads) {
  const EdgeWork work = EdgeWork::by_destination(edges);
  const int64_t att_size = shape.heads * shape.width;
  std::vector<T> parts(static_cast<size_t>(work.num_chunks() * att_size), T{0});
  Array destination = out.destination;
  if (destination.data == nullptr)
    destination = BufferPool::shared()->allocate_array(kDTypeOf<T>, scores.destination.shape);
  const auto kernel = attention_kernels<T>().push_scores;
  work.visit(threads, [&](int64_t chunk, int64_t begin, int64_t end) {
    Gatv2Args<T> args = args_of<T>(scores, shape, work);
    args.grad_scores = data_of<T>(grad);
    args.out = writable_data<T>(destination);
    args.grad_edge = writable_data<T>(out.edge);
    args.grad_att = parts.data() + chunk * att_size;
    kernel(args, begin, end);
  });
  if (out.att.data == nullptr) return;
  T* att = writable_data<T>(out.att);
  std::fill_n(att, att_size, T{0});
  for (int64_t i = 0; i < std::ssize(parts); ++i)
    att[i % att_size] += parts[static_cast<size_t>(i)];
}

template <typename T>
void pull(const BlockEdges& edges,
          const Gatv2Scores& scores,
          const Shape& shape,
          const Array& grad,
          const Array& out,
          int threads) {
  const EdgeWork work = EdgeWork::by_source(edges, threads);
  Gatv2Args<T> args = args_of<T>(scores, shape, work);
  args.grad_scores = data_of<T>(grad);
  args.out = writable_data<T>(out);
  const auto kernel = attention_kernels<T>().pull_scores;
  work.visit(threads, [&](int64_t, int64_t begin, int64_t end) { kernel(args, begin, end); });
}

}  // namespace

void gatv2_scores(const BlockEdges& edges,
                  const Gatv2Scores& scores,
                  const Array& out,
                  int threads) {
  const Shape shape = check(edges, scores, out);
  require_output("out", out, out.dtype, out.shape);
  with_float("att", scores.att, [&](auto zero) {
    using T = decltype(zero);
    const EdgeWork work = EdgeWork::by_destination(edges);
    Gatv2Args<T> args = args_of<T>(scores, shape, work);
    args.out = writable_data<T>(out);
    const auto kernel = attention_kernels<T>().scores;
    work.visit(threads, [&](int64_t, int64_t begin, int64_t end) { kernel(args, begin, end); });
  });
}

void gatv2_scores_back(const BlockEdges& edges,
                       const Gatv2Scores& scores,
                       const Array& grad,
                       const Gatv2Scores& out,
                       int threads) {
  const Shape shape = check(edges, scores, grad);
  const auto require = [&](const char* what, const Array& array, int64_t rows) {
    if (array.data == nullptr) return;
    require_output(what, array, grad.dtype, {rows, shape.heads, shape.width});
  };
  require("source's gradient", out.source, edges.num_src());
  require("destination's gradient", out.destination, edges.num_dst());
  require("edge's gradient", out.edge, edges.num_edges());
  if (out.att.data != nullptr)
    require_output("att's gradient", out.att, grad.dtype, scores.att.shape);
  with_float("att", scores.att, [&](auto zero) {
    using T = decltype(zero);
    if (out.source.data != nullptr) pull<T>(edges, scores, shape, grad, out.source, threads);
    push<T>(edges, scores, shape, grad, out, threads);
  });
}

}  // namespace ramet
