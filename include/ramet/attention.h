// Attention over the edges of a block: softmax over a destination's edges, the scores of GAT and of
// GATv2, and sums with one weight per head; and their gradients.
//
// Arrays are float32 or float64, all of a call the same, contiguous, of the host. E is
// edges.num_edges(), and H the number of heads. Gradients are sums over a node's own edges, in
// their order, so the bits do not depend on threads or vector instructions. docs/semantics.md,
// section 21.
//
// Memory: the caller's; `out` and the gradients must be writable, and overlap nothing else that is
// read. Threads and forks: any; `threads` is the maximum of a call, 0 for all. Failure:
// kInvalidArgument for arrays that do not fit; nothing is changed then.
#pragma once

#include <memory>
#include <span>

#include "ramet/array.h"
#include "ramet/block_edges.h"

namespace ramet {

// out[e, h] = exp(scores[e, h] - max) / sum over the edges of e's destination. All [E, H].
void edge_softmax(const BlockEdges& edges, const Array& scores, const Array& out, int threads = 1);
// out = alpha (grad - sum of alpha grad over the destination's edges): the gradient of the scores,
// from `alpha`, the softmax. All [E, H].
void edge_softmax_back(const BlockEdges& edges,
                       const Array& alpha,
                       const Array& grad,
                       const Array& out,
                       int threads = 1);

// GAT's scores: leaky_relu(source[s, h] + destination[d, h] + edge[e, h]).
// Veličković and others: "Graph attention networks", 2018.
struct GatScores {
  Array source;       // [num_src, H]
  Array destination;  // [num_dst, H]
  Array edge = {};    // [E, H], or without data
  double negative_slope = 0.2;
};
// out [E, H]: the softmax of the scores.
void gat_softmax(const BlockEdges& edges,
                 const GatScores& scores,
                 const Array& out,
                 int threads = 1);
// From `alpha`, the softmax, and its gradient, both [E, H]: the gradients of scores.edge, `out`
// [E, H], and of scores.destination, `grad_destination` [num_dst, H].
void gat_softmax_back(const BlockEdges& edges,
                      const GatScores& scores,
                      const Array& alpha,
                      const Array& grad,
                      const Array& out,
                      const Array& grad_destination,
                      int threads = 1);

// out[s] = the sum of values[e] over the edges that leave source s: [E, H] to [num_src, H].
void sum_at_sources(const BlockEdges& edges,
                    const Array& values,
                    const Array& out,
                    int threads = 1);

// out[d, h] = the sum of weights[e, h] x[s] over d's edges: of x [num_src or more, F] and weights
// [E, H], [num_dst, H, F]. One row serves all heads, unlike in aggregate().
void head_sums(const BlockEdges& edges,
               const Array& x,
               const Array& weights,
               const Array& out,
               int threads = 1);
// The gradient of x, `out` [num_src, F], from that of the sums, `grad` [num_dst, H, F].
void head_sums_back(const BlockEdges& edges,
                    const Array& grad,
                    const Array& weights,
                    const Array& out,
                    int threads = 1);
// The gradient of the weights, `out` [E, H]: out[e, h] = <grad[d, h], x[s]>.
void head_dots(
    const BlockEdges& edges, const Array& grad, const Array& x, const Array& out, int threads = 1);

// GATv2's scores: <att[h], leaky_relu(source[s, h] + destination[d, h] + edge[e, h])>.
// Brody, Alon, Yahav: "How attentive are graph attention networks?", 2022.
struct Gatv2Scores {
  Array source;       // [num_src or more, H, C]
  Array destination;  // [num_dst, H, C]
  Array att;          // [H, C]
  Array edge = {};    // [E, H, C], or without data
  double negative_slope = 0.2;
};
// out [E, H]: the scores.
void gatv2_scores(const BlockEdges& edges,
                  const Gatv2Scores& scores,
                  const Array& out,
                  int threads = 1);
// From the gradient of the scores, [E, H], the gradients of the parts, in their shapes (of
// `source`, num_src rows). Parts without data are left out.
void gatv2_scores_back(const BlockEdges& edges,
                       const Gatv2Scores& scores,
                       const Array& grad,
                       const Gatv2Scores& out,
                       int threads = 1);

// Edges with exactly one self loop, from source d to destination d, at each destination d that is a
// source, too: after its other edges. Existing loops are removed. `own` [num_dst], if not empty:
// destination d is source own[d]; else it is source d.
struct LoopedEdges {
  std::shared_ptr<const BlockEdges> edges;
  Array positions;  // int32 [edges]: where each edge was among the block's; -1 for a loop
};
[[nodiscard]] LoopedEdges with_self_loops(const BlockEdges& edges,
                                          int threads = 1,
                                          std::span<const int64_t> own = {});

}  // namespace ramet
