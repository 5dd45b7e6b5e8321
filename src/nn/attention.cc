// Softmax over a destination's edges. Of a chunk the scores less their maximum come first, then all
// exponentials at once, which vectors compute, and then the sums.
#include "ramet/attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/attention.h"
#include "nn/edge_work.h"

namespace ramet {
namespace {

template <typename T>
using Exp = void (*)(T* values, int64_t count);

// The scores of the edges of node d less their maximum, in `out`.
template <typename T, typename Score>
void shifted_scores(
    const EdgeLists& edges, int64_t d, int64_t heads, const Score& score, T* most, T* out) {
  const int64_t first = edges.offsets[d], last = edges.offsets[d + 1];
  std::fill_n(most, heads, -std::numeric_limits<T>::infinity());
  for (int64_t e = first; e < last; ++e) {
    T* row = out + e * heads;
    for (int64_t h = 0; h < heads; ++h) {
      row[h] = score(e, d, h);
      most[h] = row[h] > most[h] ? row[h] : most[h];
    }
  }
  for (int64_t e = first; e < last; ++e) {
    T* row = out + e * heads;
    for (int64_t h = 0; h < heads; ++h)
      row[h] -= most[h];
  }
}

template <typename T>
void divide_by_sums(const EdgeLists& edges, int64_t d, int64_t heads, T* sums, T* out) {
  const int64_t first = edges.offsets[d], last = edges.offsets[d + 1];
  std::fill_n(sums, heads, T{0});
  for (int64_t e = first; e < last; ++e) {
    for (int64_t h = 0; h < heads; ++h)
      sums[h] += out[e * heads + h];
  }
  for (int64_t e = first; e < last; ++e) {
    for (int64_t h = 0; h < heads; ++h)
      out[e * heads + h] /= sums[h];
  }
}

template <typename T, typename Score>
void softmax(const BlockEdges& block, int64_t heads, const Score& score, T* out, int threads) {
  const EdgeWork work = EdgeWork::by_destination(block);
  const EdgeLists& edges = work.lists();
  const Exp<T> exp = attention_kernels<T>().exp;
  work.visit(threads, [&](int64_t, int64_t begin, int64_t end) {
    std::vector<T> scratch(static_cast<size_t>(heads));
    for (int64_t d = begin; d < end; ++d)
      shifted_scores(edges, d, heads, score, scratch.data(), out);
    const int64_t first = edges.offsets[begin] * heads;
    exp(out + first, edges.offsets[end] * heads - first);
    for (int64_t d = begin; d < end; ++d)
      divide_by_sums(edges, d, heads, scratch.data(), out);
  });
}

// out = slope(e, d, h) alpha (grad - sum of alpha grad), and its sum over the edges of d in
// sums[d], unless that is nullptr.
template <typename T, typename Slope>
void softmax_back(const BlockEdges& block,
                  int64_t heads,
                  const T* alpha,
                  const T* grad,
                  const Slope& slope,
                  T* out,
                  T* sums,
                  int threads) {
  const EdgeWork work = EdgeWork::by_destination(block);
  const EdgeLists& edges = work.lists();
  work.visit(threads, [&](int64_t, int64_t begin, int64_t end) {
    std::vector<T> means(static_cast<size_t>(heads)), unused(means);
    for (int64_t d = begin; d < end; ++d) {
      const int64_t first = edges.offsets[d], last = edges.offsets[d + 1];
      T* sum = sums == nullptr ? unused.data() : sums + d * heads;
      std::fill_n(means.data(), heads, T{0});
      std::fill_n(sum, heads, T{0});
      for (int64_t e = first; e < last; ++e) {
        for (int64_t h = 0; h < heads; ++h)
          means[static_cast<size_t>(h)] += alpha[e * heads + h] * grad[e * heads + h];
      }
      for (int64_t e = first; e < last; ++e) {
        for (int64_t h = 0; h < heads; ++h) {
          const int64_t i = e * heads + h;
          out[i] = slope(e, d, h) * (alpha[i] * (grad[i] - means[static_cast<size_t>(h)]));
          sum[h] += out[i];
        }
      }
    }
  });
}

// What leaky_relu is applied to.
template <typename T>
struct GatInput {
  GatInput(const BlockEdges& edges, const GatScores& scores, int64_t num_heads)
      : sources(data_of<int32_t>(edges.indices())),
        source(data_of<T>(scores.source)),
        destination(data_of<T>(scores.destination)),
        edge(data_of<T>(scores.edge)),
        heads(num_heads) {}

  T operator()(int64_t e, int64_t d, int64_t h) const {
    const T ends = source[sources[e] * heads + h] + destination[d * heads + h];
    return edge == nullptr ? ends : ends + edge[e * heads + h];
  }

  const int32_t* sources;
  const T* source;
  const T* destination;
  const T* edge;
  int64_t heads;
};

// Checks all but `alpha`, and returns the number of heads.
int64_t check_gat(const BlockEdges& edges, const GatScores& scores, const Array& alpha) {
  const int64_t heads = heads_of("alpha", alpha, edges);
  require_shape("source scores", scores.source, alpha.dtype, {edges.num_src(), heads});
  require_shape("destination scores", scores.destination, alpha.dtype, {edges.num_dst(), heads});
  if (scores.edge.data != nullptr)
    require_shape("edge scores", scores.edge, alpha.dtype, alpha.shape);
  return heads;
}

}  // namespace

void edge_softmax(const BlockEdges& edges, const Array& scores, const Array& out, int threads) {
  const int64_t heads = heads_of("scores", scores, edges);
  require_output("out", out, scores.dtype, scores.shape);
  with_float("scores", scores, [&](auto zero) {
    using T = decltype(zero);
    const T* values = data_of<T>(scores);
    const auto score = [=](int64_t e, int64_t, int64_t h) { return values[e * heads + h]; };
    softmax(edges, heads, score, writable_data<T>(out), threads);
  });
}

void edge_softmax_back(
    const BlockEdges& edges, const Array& alpha, const Array& grad, const Array& out, int threads) {
  const int64_t heads = heads_of("alpha", alpha, edges);
  require_shape("grad", grad, alpha.dtype, alpha.shape);
  require_output("out", out, alpha.dtype, alpha.shape);
  with_float("alpha", alpha, [&](auto zero) {
    using T = decltype(zero);
    const auto slope = [](int64_t, int64_t, int64_t) { return T{1}; };
    softmax_back<T>(edges, heads, data_of<T>(alpha), data_of<T>(grad), slope, writable_data<T>(out),
                    nullptr, threads);
  });
}

void gat_softmax(const BlockEdges& edges, const GatScores& scores, const Array& out, int threads) {
  const int64_t heads = check_gat(edges, scores, out);
  require_output("out", out, out.dtype, out.shape);
  with_float("out", out, [&](auto zero) {
    using T = decltype(zero);
    const GatInput<T> input(edges, scores, heads);
    const T slope = static_cast<T>(scores.negative_slope);
    const auto score = [&](int64_t e, int64_t d, int64_t h) {
      const T value = input(e, d, h);
      return value > 0 ? value : slope * value;
    };
    softmax(edges, heads, score, writable_data<T>(out), threads);
  });
}

void gat_softmax_back(const BlockEdges& edges,
                      const GatScores& scores,
                      const Array& alpha,
                      const Array& grad,
                      const Array& out,
                      const Array& grad_destination,
                      int threads) {
  const int64_t heads = check_gat(edges, scores, alpha);
  require_shape("grad", grad, alpha.dtype, alpha.shape);
  require_output("out", out, alpha.dtype, alpha.shape);
  require_output("grad_destination", grad_destination, alpha.dtype, {edges.num_dst(), heads});
  with_float("alpha", alpha, [&](auto zero) {
    using T = decltype(zero);
    const GatInput<T> input(edges, scores, heads);
    const T slope = static_cast<T>(scores.negative_slope);
    const auto slope_at = [&](int64_t e, int64_t d, int64_t h) {
      return input(e, d, h) > 0 ? T{1} : slope;
    };
    softmax_back<T>(edges, heads, data_of<T>(alpha), data_of<T>(grad), slope_at,
                    writable_data<T>(out), writable_data<T>(grad_destination), threads);
  });
}

}  // namespace ramet
