// BudgetHops: so many nodes of each type and hop, drawn by importance among the neighbors of all
// nodes so far, and then all edges among the nodes; docs/semantics.md, section 25. Whoever drives
// the hops decides who draws: a process alone, or ranks that cooperate. One thread; start() begins
// anew, whatever happened before.
//
//     hops.exclude(...);
//     hops.start();
//     for (; !hops.are_drawn(); hops.end_hop()) { hops.share(...); draw and append nodes }
//     then edges(0), ..., edges(num_hops())
#pragma once

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
using CandidatesByType = std::vector<Candidates<Id>>;

template <typename Id>
class BudgetHops {
 public:
  // `driver`: of the same batches; it must outlive this.
  BudgetHops(HopOptions options, const HopDriver& driver);

  // The edges that are not there in the next batch. Throws as excluded_by_type() does.
  void exclude(std::span<const ExcludedEdges> excluded);
  // The seeds are the driver's.
  void start();
  [[nodiscard]] size_t num_hops() const;
  [[nodiscard]] bool are_drawn() const { return ends_.size() > num_hops(); }
  // Candidates of all nodes of the graph, to be kept.
  void prepare(CandidatesByType<Id>& candidates) const;
  // By node type.
  [[nodiscard]] CandidatesByType<Id>& nodes() { return nodes_; }

  // The nodes that the hop before appended share out among the neighbors of each, per edge type.
  void share(CandidatesByType<Id>& among);
  [[nodiscard]] int64_t budget(size_t type) const;
  [[nodiscard]] std::span<const DrawnNode<Id>> draw(size_t type);
  void end_hop() { ends_.push_back(sizes()); }

  // The edges into the nodes that hop `hop - 1` appended, from nodes of the batch.
  [[nodiscard]] Block edges(size_t hop);

 private:
  // By node type: how many nodes the batch has.
  [[nodiscard]] std::vector<int64_t> sizes() const;
  [[nodiscard]] size_t hop() const { return ends_.size() - 1; }
  // What hop `hop - 1` appended to the list of a type; of hop 0 the seeds.
  [[nodiscard]] ListRange appended(size_t hop, size_t type) const {
    return {hop == 0 ? 0 : ends_[hop - 1][type], ends_[hop][type]};
  }
  // Calls body as RowSources does, with the in-edges of `nodes` that are not excluded.
  template <typename Body>
  void for_each_source(size_t edge_type, std::span<const Id> nodes, Body&& body) {
    rows_.for_each(graph_, graph_.edge_types()[edge_type], nodes,
                   excluded_.empty() ? none_ : excluded_[edge_type], body);
  }
  // Those of their in-edges that come from nodes of the batch.
  Relation edges_into(size_t edge_type, const ListRange& destinations);

  const HopOptions options_;
  const Graph& graph_;
  const HopDriver& driver_;
  std::vector<uint64_t> type_hash_;  // of the names of the node types
  CandidatesByType<Id> nodes_;
  std::vector<std::vector<int64_t>> ends_;  // sizes(): of the seeds, and after each hop
  const ExcludedPositions none_;
  std::vector<ExcludedPositions> excluded_;  // by edge type; empty where there are none
  RowSources<Id> rows_;
  std::vector<uint64_t> shares_;             // of some sources
  std::vector<int32_t> position_, sources_;  // of a relation in the making
  std::vector<int64_t> positions_;
};

}  // namespace ramet
