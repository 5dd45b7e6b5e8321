// HopSampler: one hop of sampling, all edge types of it, for whoever drives the hops: a process
// alone, or ranks that cooperate.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "edge_times.h"
#include "excluded_edges.h"
#include "methods.h"
#include "node_index.h"
#include "path_times.h"
#include "ramet/buffer_pool.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "relation_keys.h"

namespace ramet {

// The nodes of a batch, or of a layer of it, by node type.
template <typename Id>
using NodeIndexes = std::vector<NodeIndex<Id>>;

// Makes an index for each node type of `graph`: of all its nodes, or of those in ranges[type].
template <typename Id>
void prepare(NodeIndexes<Id>& nodes, const Graph& graph);
template <typename Id>
void prepare(NodeIndexes<Id>& nodes, const Graph& graph, std::span<const NodeRange> ranges);

template <typename Id>
[[nodiscard]] std::vector<int64_t> sizes(const NodeIndexes<Id>& nodes);

// With no limit to ids: of keys of nodes.
template <typename Id>
void prepare_for_keys(NodeIndexes<Id>& nodes, const Graph& graph);

template <typename Id>
[[nodiscard]] Array to_int64(std::span<const Id> ids, BufferPool& pool);

// 32 bits are enough for every id of the graph.
[[nodiscard]] bool has_narrow_ids(const Graph& graph);

template <typename Id>
class HopSampler {
 public:
  // `scratch` must outlive it.
  HopSampler(HopOptions options, HopScratch<Id>& scratch);

  [[nodiscard]] const HopOptions& options() const { return options_; }

  // The edges that no hop of the next batch draws. Throws as excluded_by_type() does.
  void exclude(std::span<const ExcludedEdges> excluded) {
    excluded_ = excluded_by_type(*options_.graph, excluded);
  }

  // The importances of the hop's sources, where the method has any: all sources of the in-edges of
  // the destinations become candidates. To be iterated before sample(). nullptr: none needed.
  // `listed`: the candidates have to be listed.
  [[nodiscard]] bool has_importance() const { return relation_sampler_->importance() != nullptr; }
  [[nodiscard]] HopImportance<Id>* start_importance(NodeIndexes<Id>& nodes,
                                                    std::span<const ListRange> destinations,
                                                    int hop,
                                                    bool listed);

  // By node type; empty unless trees are disjoint.
  [[nodiscard]] const std::vector<TreeKeys>& tree_keys() const { return tree_keys_; }

  // With SampleOptions::time, before the first hop of a batch: the times of all trees.
  void start_times(const Array& seed_times);
  // Begins the list of a type with its seeds. Disjoint, each is the root of a tree: of `num_trees`
  // in the batch, those of the driver are from `first_tree` on.
  void start_list(NodeIndex<Id>& nodes,
                  const HopDriver& driver,
                  size_t type,
                  int64_t first_tree,
                  int64_t num_trees) const;
  [[nodiscard]] NodeLists take_lists(const NodeIndexes<Id>& nodes) const;

  // Samples in-edges of nodes at destinations[type] of `nodes`, to which new sources are appended.
  // One relation per edge type.
  [[nodiscard]] std::vector<Relation> sample(NodeIndexes<Id>& nodes,
                                             std::span<const ListRange> destinations,
                                             const DrawKeys& step_keys,
                                             int hop);

  // After a hop: the nodes of a type that it has found, from `before` on, go to these positions in
  // their list; those with -1 are gone.
  void move(size_t node_type, int64_t before, std::span<const int32_t> positions) {
    if (is_monotonic()) path_times_.move(node_type, before, positions);
  }

  // With Time::monotonic paths hold edges back, which ranks have to tell each other.
  [[nodiscard]] bool is_monotonic() const {
    return options_.sample.time && options_.sample.time->monotonic;
  }
  [[nodiscard]] PathTimes<Id>& path_times() { return path_times_; }

 private:
  void read_trees(const NodeIndexes<Id>& nodes, std::span<const ListRange> destinations);
  void count_times_read(const RelationTask<Id>& task) const;
  [[nodiscard]] RelationTask<Id> make_task(NodeIndexes<Id>& nodes,
                                           std::span<const ListRange> destinations,
                                           size_t edge_type,
                                           int hop) const;

  const HopOptions options_;
  const RelationKeys keys_;
  const std::unique_ptr<RelationSampler<Id>> relation_sampler_;
  const std::vector<TreeKeys> tree_keys_;  // by node type; empty unless trees are disjoint
  const std::vector<std::optional<EdgeTimes>> edge_times_;  // by edge type
  std::vector<ExcludedPositions> excluded_;  // by edge type; empty where there are none
  std::vector<TreeNodes<Id>>& tree_nodes_;
  std::vector<TimeSpan> seed_spans_;
  PathTimes<Id> path_times_;  // with Time::monotonic
};

}  // namespace ramet
