// Inner loops of attention: of a range of destinations, or of sources where gradients are pulled.
//
// Every element is computed by +, -, *, / alone, each rounded as IEEE 754 says, in an order that
// does not depend on the vectors' width. So all instruction sets give the same bits:
// docs/semantics.md, section 21. T is float or double; double has one lane.
#pragma once

#include <cstdint>

namespace ramet {

// Edges by one of their ends: those of node i are [offsets[i], offsets[i + 1]).
struct EdgeLists {
  const int64_t* offsets;
  const int32_t* ends;       // the other end of each edge
  const int32_t* positions;  // where the edge's values lie; nullptr: in place

  [[nodiscard]] int64_t position(int64_t edge) const {
    return positions == nullptr ? edge : positions[edge];
  }
};

// One row of a source serves all heads: `rows` [sources, width] beside `wide` [destinations, heads,
// width], `weights` and `dots` [edges, heads].
template <typename T>
struct HeadArgs {
  EdgeLists edges = {};
  int64_t heads = 0, width = 0;
  const T* rows = nullptr;
  const T* weights = nullptr;
  const T* wide = nullptr;
  T* out = nullptr;
};

// Scores of GATv2: <att[h], leaky_relu(source[s, h] + destination[d, h] + edge[e, h])>.
template <typename T>
struct Gatv2Args {
  EdgeLists edges = {};
  int64_t heads = 0, width = 0;    // `width` elements of each head
  const T* source = nullptr;       // [sources, heads, width]
  const T* destination = nullptr;  // [destinations, heads, width]
  const T* edge = nullptr;         // [edges, heads, width], or nullptr
  const T* att = nullptr;          // [heads, width]
  const T* grad_scores = nullptr;  // [edges, heads]
  T slope = 0;
  T* out = nullptr;
  T* grad_edge = nullptr;  // as `edge`, or nullptr
  T* grad_att = nullptr;   // [heads, width]; added to
};

template <typename T>
struct AttentionKernels {
  // values[i] = exp(values[i]), for values up to 0; 0 below the least normal number's logarithm.
  void (*exp)(T* values, int64_t count);
  // out[d, h] = sum over d's edges of weights[e, h] rows[s]
  void (*sums)(const HeadArgs<T>& args, int64_t begin, int64_t end);
  // out[s] = sum over s's edges, and heads, of weights[e, h] wide[d, h]
  void (*pull)(const HeadArgs<T>& args, int64_t begin, int64_t end);
  // out[e, h] = <wide[d, h], rows[s]>
  void (*dots)(const HeadArgs<T>& args, int64_t begin, int64_t end);
  // out[e, h]: the scores
  void (*scores)(const Gatv2Args<T>& args, int64_t begin, int64_t end);
  // out [destinations, heads, width], grad_edge and grad_att
  void (*push_scores)(const Gatv2Args<T>& args, int64_t begin, int64_t end);
  // out [sources, heads, width]; `edges` by source
  void (*pull_scores)(const Gatv2Args<T>& args, int64_t begin, int64_t end);
};

// The best that this machine's instructions offer.
template <typename T>
[[nodiscard]] AttentionKernels<T> attention_kernels();

[[nodiscard]] AttentionKernels<float> attention_portable();

}  // namespace ramet
