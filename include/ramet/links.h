// Links: pairs of nodes as the seeds of a loader, their negatives, and the edges that are excluded
// for them. docs/semantics.md, sections 23 and 24.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "ramet/array.h"
#include "ramet/graph.h"
#include "ramet/negatives.h"

namespace ramet {

inline constexpr int kNoEdges = -1;
inline constexpr int64_t kAnyDegree = std::numeric_limits<int64_t>::max();
inline constexpr double kMaxNegatives = 1e6;  // of a pair

// Which edges no hop draws for a pair: those of `edge_type` from its source to its destination, or
// with `reversed` the other way round. Of a pair that is an edge of this type, that edge alone.
struct Exclusion {
  int edge_type = 0;
  bool reversed = false;
};

// The negatives of a loader's pairs.
struct LinkNegatives {
  // Of each pair. With a fraction, the first n pairs of a global batch have ceil(n amount)
  // together.
  double amount = 1;
  NegativeOptions options = {};  // `amount`, `epoch` and `threads` have no effect
  bool fixed = false;            // every epoch has those of epoch 0
  bool in_batch = false;         // candidates are the other ends in the global batch
  Array given = {};              // int64[n, amount]: destinations of each pair; then none is drawn
};

// How a batch numbers the ends of its pairs. As PyG does: nodes ascend, with disjoint trees
// negatives follow the pairs of the same end, and all first negatives of pairs come before the
// second ones.
enum class LinkOrder : uint8_t { kFirstOccurrence, kPyg };

// The pairs of one kind. One of three: all edges of an edge type, in the order of its CSC; edges at
// positions; pairs of nodes.
struct InputEdges {
  int src = 0, dst = 0;      // node types
  int edge_type = kNoEdges;  // of edges; of pairs of nodes that belong to none, kNoEdges
  Array positions = {};      // int32 or int64[n], in the CSC
  Array sources = {}, destinations = {};  // int64[n] each
  Array times = {};                       // int64[n], with SampleOptions::time
  std::optional<LinkNegatives> negatives = {};
  std::vector<Exclusion> excluded = {};
  // Only for pairs of which an end has fewer in-edges than this: of `edge_type`, or else of the
  // reverse that is excluded. An end that no such type leads to does not count.
  int64_t excluded_below = kAnyDegree;
};

// How many pairs they are.
[[nodiscard]] int64_t num_pairs(const InputEdges& edges, const Graph& graph);

// The pairs of one kind in a batch.
struct Links {
  int64_t num_pairs = 0;
  // int64[2, pairs + negatives], in host memory: sources above destinations, local ids. A pair's
  // negatives follow one another, in the order of pairs; in PyG's order not.
  Array edge_label_index;
  Array pair_of_negative;  // int64[negatives], in host memory: the number of each one's pair
};

}  // namespace ramet
