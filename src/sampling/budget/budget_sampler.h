// BudgetSampler: so many nodes of each type and hop, drawn by importance among the neighbors of all
// nodes so far, and then all edges among the nodes; docs/semantics.md, section 25. As of
// NeighborSampler, which it works for: one thread; it stays usable after a failure.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "candidates.h"
#include "ramet/sampler.h"
#include "row_sources.h"
#include "sampling/hop_driver.h"
#include "sampling/methods.h"

namespace ramet {

template <typename Id>
class BudgetSampler {
 public:
  explicit BudgetSampler(HopOptions options);

  [[nodiscard]] Minibatch sample(std::span<const Seeds> seeds,
                                 uint64_t epoch,
                                 uint64_t step,
                                 const std::atomic<bool>* stop,
                                 std::span<const ExcludedEdges> excluded);

 private:
  // By node type: how many nodes the batch has.
  [[nodiscard]] std::vector<int64_t> sizes() const;
  // Calls body as RowSources does, with the in-edges of `nodes` that are not excluded.
  template <typename Body>
  void for_each_source(size_t edge_type, std::span<const Id> nodes, Body&& body) {
    rows_.for_each(graph_, graph_.edge_types()[edge_type], nodes,
                   excluded_.empty() ? none_ : excluded_[edge_type], body);
  }
  // The nodes from `before` on share out 1 among the neighbors of each, per edge type.
  void share(std::span<const int64_t> before);
  void draw(size_t hop);
  // Those of their in-edges that come from nodes of the batch.
  Relation edges_into(size_t edge_type, const ListRange& destinations);

  const HopOptions options_;
  const Graph& graph_;
  std::vector<uint64_t> type_hash_;  // of the names of the node types
  HopDriver driver_;
  std::vector<Candidates<Id>> nodes_;  // by node type
  const ExcludedPositions none_;
  std::vector<ExcludedPositions> excluded_;  // by edge type; empty where there are none
  RowSources<Id> rows_;
  std::vector<double> shares_;               // of some sources
  std::vector<int32_t> position_, sources_;  // of a relation in the making
  std::vector<int64_t> positions_;
};

}  // namespace ramet
