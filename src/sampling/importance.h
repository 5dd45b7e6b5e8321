// LABOR-i: which probabilities lower the number of distinct sources of a hop, at the same variance.
//
// Every source t has an importance p, 1 at first, and every destination s a factor c such that
// accepting t with probability min(1, c p) gives its estimate the variance of uniform sampling. An
// iteration multiplies p by the largest c of the destinations that t points to: the expected number
// of distinct sources, the sum of min(1, p max c), never grows (Balin, Catalyurek: "Layer-Neighbor
// Sampling: Defusing Neighborhood Explosion in GNNs", NeurIPS 2023, arXiv 2210.13339, section 3).
// docs/semantics.md, section 8, has the arithmetic to the bit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "relation_builder.h"
#include "rows.h"

namespace ramet {

// The c that solves sum of 1 / min(1, c p) = d^2 / fanout over the d sources of a row, whose
// importances are `p`; 1 where the fanout takes all of them.
[[nodiscard]] double solve_c(std::span<const double> p, int64_t fanout);

// One edge type's part of a hop. Entries of edges stand row by row.
struct RelationImportance {
  std::vector<Row> rows;                   // by destination; none where the fanout is 0
  std::vector<size_t> first_edge;          // by destination, one more
  std::vector<double> c;                   // by destination
  std::vector<int32_t> candidate;          // by edge: the source among those of the hop
  const std::vector<double>* p = nullptr;  // by candidate

  // c p of the edges of row i, in order.
  [[nodiscard]] std::span<const int32_t> candidates(size_t i) const {
    return std::span(candidate).subspan(first_edge[i], first_edge[i + 1] - first_edge[i]);
  }
};

// All edge types of a hop. Memory: 4 bytes for each in-edge of the destinations, 8 for each
// distinct source; kept from hop to hop.
template <typename Id>
class HopImportance {
 public:
  // Forgets the hop before. Tables for candidates are made as `graph` affords them.
  void start(const Graph& graph);
  // The next edge type of the hop, all of whose sources become candidates.
  void add(const RelationTask<Id>& task);
  void iterate(int64_t iterations);
  [[nodiscard]] const RelationImportance& relation(size_t edge_type) const {
    return relations_[edge_type].importance;
  }

 private:
  struct OfRelation {
    int src = 0;
    int64_t fanout = 0;
    RelationImportance importance;
  };
  struct OfType {
    NodeIndex<Id> candidates;
    std::vector<double> p, largest_c;
  };

  void solve(OfRelation& relation);
  void raise(const OfRelation& relation);

  std::vector<OfRelation> relations_;
  size_t num_relations_ = 0;
  std::vector<OfType> types_;  // by source type
  std::vector<double> row_p_;
};

}  // namespace ramet
