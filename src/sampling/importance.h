// LABOR-i: which probabilities lower the number of distinct sources of a hop, within the
// same bound of variance.
//
// Every source t has an importance p, 1 at first, and every destination s a factor c such that
// accepting t with probability min(1, c p) gives its estimate the variance of uniform sampling. An
// iteration multiplies p by the largest c of the destinations that t points to: the expected number
// of distinct sources, the sum of min(1, p max c), never grows (Balin, Catalyurek: "Layer-Neighbor
// Sampling: Defusing Neighborhood Explosion in GNNs", NeurIPS 2023, arXiv 2210.13339, section 3).
// With weights the estimate is a weighted mean, and its variance that of drawing in proportion to
// them. docs/semantics.md, section 8, has the arithmetic to the bit.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/grow_array.h"
#include "kernels/cpu/isa_kernels.h"
#include "ramet/sample_options.h"
#include "ranked_c.h"
#include "relation_builder.h"
#include "rows.h"
#include "solve_c.h"

namespace ramet {

// Of the sources of a row, in the order of its edges. Behind them is room for kLaborPadding more.
class RowImportance {
 public:
  void resize(size_t size) {
    p_.reserve(size + kLaborPadding, 0);
    inverse_.reserve(size + kLaborPadding, 0);
    size_ = size;
  }
  [[nodiscard]] double* p() { return p_.data(); }
  [[nodiscard]] double* inverse() { return inverse_.data(); }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  GrowArray<double> p_, inverse_;
  size_t size_ = 0;
};

// Of all sources of a type, by number.
struct Importances {
  ZeroedArray<double> p, largest_c;
  // Where p is the largest c of the first iteration: instead of both, its rank.
  const RankedC* ranked = nullptr;
  ZeroedArray<RankedC::Rank> rank;
};

// One edge type's part of a hop. Rows have the edges that may be drawn.
class RelationImportance {
 public:
  // The c of row i, whose importances it writes.
  [[nodiscard]] double solve(size_t i, RowImportance& row) const;
  // The sources of row i, followed by kLaborPadding numbers or more, where numbers are ids.
  [[nodiscard]] bool has_ids() const { return has_ids_; }
  [[nodiscard]] std::span<const int32_t> ids(size_t i) const {
    return {number_.data() + first_edge_[i], first_edge_[i + 1] - first_edge_[i]};
  }

 private:
  template <typename Id>
  friend class HopImportance;

  // With weights, by destination: of the probabilities that are in proportion to them.
  struct Proportional {
    double c, variance;
  };

  [[nodiscard]] size_t num_edges() const { return first_edge_.back(); }
  // Makes room for the numbers of so many edges, and what is read behind them.
  void reserve(size_t num_edges, size_t kept);
  [[nodiscard]] std::span<const double> shares(size_t i) const;
  // Of the next row.
  void add_shares(std::span<const double> shares, double c);
  void load(size_t i, RowImportance& row) const;
  // In the first iteration.
  [[nodiscard]] double first_c(size_t i) const;
  void add_first_c(RankedC& ranked) const;
  void raise_ranks(const RankedC& ranked, RankedC::Rank* largest) const;

  int64_t fanout_ = 0;
  int src_ = 0;
  bool has_ids_ = false;
  std::vector<size_t> first_edge_;  // by destination, one more; empty where the fanout is 0
  GrowArray<int32_t> number_;       // by edge: of its source
  const Importances* importances_ = nullptr;
  std::vector<double> shares_;  // by edge; empty without weights, as what follows
  std::vector<Proportional> proportional_;
};

// All edge types of a hop. Sources are numbered, for tables of their importances: as candidates, in
// the order in which they are found, or by their ids. Ids need no search, but tables of all nodes,
// so they are numbers in a hop that reads many edges. Memory: 4 bytes for each in-edge of the
// destinations, 12 with weights, and 2 to 34 for each number; kept from hop to hop.
template <typename Id>
class HopImportance {
 public:
  // Tables for candidates are made as `graph` affords them. Before the first start(). `disjoint`:
  // candidates are nodes of trees. At most `threads` work on an iteration.
  void prepare(const Graph& graph, const Labor& method, bool disjoint, int threads);
  // Clears the hop before. `listed`: ids() will be asked for.
  void start(bool listed);
  // All edge types of the hop, and then these again: their sources are those of the hop.
  void expect(const RelationTask<Id>& task);
  void add(const RelationTask<Id>& task);
  // All iterations of a process alone. `stop`, where given, is looked at between them; when it is
  // set the result is meaningless.
  void iterate(const std::atomic<bool>* stop);

  // The same in steps, for ranks that cooperate: begin() sets all importances to 1. Iterations are
  // two steps: the largest c of every candidate, a maximum in which other ranks take part before
  // the importances are updated with it.
  void begin();
  void max_reduce();
  void update();
  // The candidates of a hop that was started to have them listed.
  [[nodiscard]] std::span<const Id> ids(size_t type) const { return types_[type].index.ids(); }
  // By candidate, in the current iteration.
  [[nodiscard]] std::span<double> largest_c(size_t type) {
    return {types_[type].importances.largest_c.data(), types_[type].size()};
  }

  [[nodiscard]] const RelationImportance& relation(size_t edge_type) const {
    return relations_[edge_type];
  }

 private:
  [[nodiscard]] int64_t iterations() const { return method_.iterations; }
  struct OfType {
    NodeIndex<Id> index;  // of candidates; empty where numbers are ids
    int64_t num_nodes = 0;
    double expected_edges = 0;  // of the hop
    bool may_have_ids = false, has_ids = false;
    Importances importances;

    [[nodiscard]] size_t size() const {
      return has_ids ? static_cast<size_t>(num_nodes) : index.ids().size();
    }
  };

  template <typename Index>
  void add_rows(const RelationTask<Id>& task,
                std::span<const Index> stored,
                RelationImportance& relation);
  void add_candidates(std::vector<Id>& sources, RelationImportance& relation);
  [[nodiscard]] bool rank_c();
  void solve(const RelationImportance& relation);
  void max_reduce(const RelationImportance& relation);

  Labor method_;
  int threads_ = 1;
  bool listed_ = false;
  bool is_first_ = true;  // iteration
  std::vector<RelationImportance> relations_;
  size_t num_relations_ = 0;
  std::vector<OfType> types_;  // by source type
  std::vector<double> c_;      // by row of a relation
  RankedC ranked_;
};

}  // namespace ramet
