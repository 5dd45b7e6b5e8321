// Sums with one weight for each head, of rows that all heads share.
#include "kernels/cpu/attention.h"
#include "nn/edge_work.h"
#include "ramet/attention.h"

namespace ramet {
namespace {

// F of `x`, [rows, F].
int64_t width_of(const char* what, const Array& x) {
  if (x.shape.size() != 2) throw_invalid(what, " is ", x.describe(), ", expected [rows, columns]");
  return x.shape[1];
}

template <typename T>
void sum_values(
    const EdgeLists& edges, int64_t heads, const T* values, T* out, int64_t begin, int64_t end) {
  std::fill(out + begin * heads, out + end * heads, T{0});
  for (int64_t s = begin; s < end; ++s) {
    for (int64_t i = edges.offsets[s]; i < edges.offsets[s + 1]; ++i) {
      const T* row = values + edges.position(i) * heads;
      for (int64_t h = 0; h < heads; ++h)
        out[s * heads + h] += row[h];
    }
  }
}

// Runs `kernel` over all chunks of `work`.
template <typename T>
void run(const EdgeWork& work,
         HeadArgs<T> args,
         void (*kernel)(const HeadArgs<T>&, int64_t, int64_t),
         int threads) {
  args.edges = work.lists();
  work.visit(threads, [&](int64_t, int64_t begin, int64_t end) { kernel(args, begin, end); });
}

}  // namespace

void sum_at_sources(const BlockEdges& edges, const Array& values, const Array& out, int threads) {
  const int64_t heads = heads_of("values", values, edges);
  require_output("out", out, values.dtype, {edges.num_src(), heads});
  with_float("values", values, [&](auto zero) {
    using T = decltype(zero);
    const EdgeWork work = EdgeWork::by_source(edges, threads);
    work.visit(threads, [&](int64_t, int64_t begin, int64_t end) {
      sum_values(work.lists(), heads, data_of<T>(values), writable_data<T>(out), begin, end);
    });
  });
}

void head_sums(
    const BlockEdges& edges, const Array& x, const Array& weights, const Array& out, int threads) {
  const int64_t heads = heads_of("weights", weights, edges), width = width_of("x", x);
  require_rows("x", x, weights.dtype, {edges.num_src(), width});
  require_output("out", out, weights.dtype, {edges.num_dst(), heads, width});
  with_float("weights", weights, [&](auto zero) {
    using T = decltype(zero);
    const HeadArgs<T> args{.heads = heads,
                           .width = width,
                           .rows = data_of<T>(x),
                           .weights = data_of<T>(weights),
                           .out = writable_data<T>(out)};
    run(EdgeWork::by_destination(edges), args, attention_kernels<T>().sums, threads);
  });
}

void head_sums_back(const BlockEdges& edges,
                    const Array& grad,
                    const Array& weights,
                    const Array& out,
                    int threads) {
  const int64_t heads = heads_of("weights", weights, edges), width = width_of("out", out);
  require_shape("grad", grad, weights.dtype, {edges.num_dst(), heads, width});
  require_output("out", out, weights.dtype, {edges.num_src(), width});
  with_float("weights", weights, [&](auto zero) {
    using T = decltype(zero);
    const HeadArgs<T> args{.heads = heads,
                           .width = width,
                           .weights = data_of<T>(weights),
                           .wide = data_of<T>(grad),
                           .out = writable_data<T>(out)};
    run(EdgeWork::by_source(edges, threads), args, attention_kernels<T>().pull, threads);
  });
}

void head_dots(
    const BlockEdges& edges, const Array& grad, const Array& x, const Array& out, int threads) {
  const int64_t heads = heads_of("out", out, edges), width = width_of("x", x);
  require_rows("x", x, out.dtype, {edges.num_src(), width});
  require_shape("grad", grad, out.dtype, {edges.num_dst(), heads, width});
  require_output("out", out, out.dtype, out.shape);
  with_float("out", out, [&](auto zero) {
    using T = decltype(zero);
    const HeadArgs<T> args{.heads = heads,
                           .width = width,
                           .rows = data_of<T>(x),
                           .wide = data_of<T>(grad),
                           .out = writable_data<T>(out)};
    run(EdgeWork::by_destination(edges), args, attention_kernels<T>().dots, threads);
  });
}

}  // namespace ramet
