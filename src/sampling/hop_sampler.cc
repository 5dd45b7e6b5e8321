// docs/semantics.md, sections 4 and 5. The work on one edge type is a RelationSampler's.
#include "hop_sampler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "rows_by_time.h"
#include "sorted_times.h"
#include "time_codes.h"

namespace ramet {

template <typename Id>
void prepare(NodeIndexes<Id>& nodes, const Graph& graph) {
  std::vector<NodeRange> ranges;
  for (const NodeType& type : graph.node_types())
    ranges.push_back({0, type.num_nodes});
  prepare(nodes, graph, ranges);
}

template <typename Id>
void prepare(NodeIndexes<Id>& nodes, const Graph& graph, std::span<const NodeRange> ranges) {
  const int64_t limit = direct_table_limit(graph, ranges);
  nodes.resize(ranges.size());
  for (size_t t = 0; t < ranges.size(); ++t)
    nodes[t].prepare(limit, ranges[t]);
}

template <typename Id>
void prepare_for_keys(NodeIndexes<Id>& nodes, const Graph& graph) {
  prepare(
      nodes, graph,
      std::vector<NodeRange>(graph.node_types().size(), {0, std::numeric_limits<int64_t>::max()}));
}

template <typename Id>
std::vector<int64_t> sizes(const NodeIndexes<Id>& nodes) {
  std::vector<int64_t> result;
  for (const auto& of_type : nodes)
    result.push_back(of_type.size());
  return result;
}

template <typename Id>
Array to_int64(std::span<const Id> ids, BufferPool& pool) {
  Array result = pool.allocate_array(DType::kInt64, {static_cast<int64_t>(ids.size())});
  std::copy(ids.begin(), ids.end(), static_cast<int64_t*>(result.data));
  return result;
}

bool has_narrow_ids(const Graph& graph) {
  return std::all_of(graph.node_types().begin(), graph.node_types().end(), [](const auto& type) {
    return type.num_nodes <= std::numeric_limits<int32_t>::max();
  });
}

template <typename Id>
HopSampler<Id>::HopSampler(HopOptions options, HopScratch<Id>& scratch)
    : options_(std::move(options)),
      keys_(*options_.graph, options_.sample.method),
      relation_sampler_(make_relation_sampler(options_, scratch)),
      tree_keys_(options_.sample.disjoint ? ramet::tree_keys(*options_.graph)
                                          : std::vector<TreeKeys>()),
      edge_times_(ramet::edge_times(*options_.graph, options_.sample.time)),
      tree_nodes_(scratch.trees) {}

template <typename Id>
HopImportance<Id>* HopSampler<Id>::start_importance(NodeIndexes<Id>& nodes,
                                                    std::span<const ListRange> destinations,
                                                    int hop,
                                                    bool listed) {
  HopImportance<Id>* importance = relation_sampler_->importance();
  if (importance == nullptr) return nullptr;
  read_trees(nodes, destinations);
  importance->start(listed);
  for (size_t t = 0; t < options_.graph->edge_types().size(); ++t)
    importance->expect(make_task(nodes, destinations, t, hop));
  for (size_t t = 0; t < options_.graph->edge_types().size(); ++t)
    importance->add(make_task(nodes, destinations, t, hop));
  return importance;
}

template <typename Id>
void HopSampler<Id>::start_times(const Array& seed_times) {
  if (!options_.sample.time) return;
  seed_spans_ = seed_spans(*options_.sample.time, seed_times);
  path_times_.start_batch(tree_keys_.size());
}

template <typename Id>
void HopSampler<Id>::start_list(NodeIndex<Id>& nodes,
                                const HopDriver& driver,
                                size_t type,
                                int64_t first_tree,
                                int64_t num_trees) const {
  const std::span<const int64_t> seeds = driver.seeds(type);
  if (tree_keys_.empty()) return nodes.start_batch(seeds);
  const TreeKeys& of_type = tree_keys_[type];
  of_type.require(num_trees);
  const std::vector<int64_t> keys = of_type.keys(first_tree + driver.first_seed(type), seeds);
  nodes.start_batch(std::span<const int64_t>(keys), {of_type.id_bits(), num_trees});
}

template <typename Id>
NodeLists HopSampler<Id>::take_lists(const NodeIndexes<Id>& nodes) const {
  NodeLists lists;
  for (size_t t = 0; t < nodes.size(); ++t) {
    const std::span<const Id> keys = nodes[t].ids();
    if (tree_keys_.empty()) {
      lists.n_id.push_back(to_int64(keys, *options_.pool));
      continue;
    }
    for (std::vector<Array>* list : {&lists.n_id, &lists.trees})
      list->push_back(options_.pool->allocate_array(DType::kInt64, {std::ssize(keys)}));
    auto* const node = static_cast<int64_t*>(lists.n_id.back().data);
    auto* const tree = static_cast<int64_t*>(lists.trees.back().data);
    const TreeKeys of_type = tree_keys_[t];  // a copy, which the stores cannot change
    for (size_t i = 0; i < keys.size(); ++i) {
      tree[i] = of_type.tree(keys[i]);
      node[i] = of_type.id(keys[i]);
    }
  }
  return lists;
}

template <typename Id>
std::vector<Relation> HopSampler<Id>::sample(NodeIndexes<Id>& nodes,
                                             std::span<const ListRange> destinations,
                                             const DrawKeys& step_keys,
                                             int hop) {
  read_trees(nodes, destinations);
  std::vector<Relation> relations;
  for (size_t t = 0; t < options_.graph->edge_types().size(); ++t) {
    const RelationTask<Id> task = make_task(nodes, destinations, t, hop);
    count_times_read(task);
    relations.push_back(relation_sampler_->sample(task, keys_.of(step_keys, t, hop)));
    relations.back().edge_type = static_cast<int>(t);
    const bool is_last = hop + 1 == std::ssize(options_.sample.fanouts[t]);
    if (is_monotonic() && !is_last) path_times_.add(task, relations.back());
  }
  return relations;
}

// Once as many rows were read as there are, what reads all times has been worth its own.
template <typename Id>
void HopSampler<Id>::count_times_read(const RelationTask<Id>& task) const {
  if (task.times == nullptr || task.fanout == 0) return;
  const auto count = [&](DerivedArrays::Slot* slot, const auto& make) {
    if (slot != nullptr) slot->add_work(task.num_dst(), task.edges.indptr.rows() - 1, make);
  };
  count(task.times->codes, [&] {
    return TimeCodes::make(*task.times, task.edges, task.num_src_nodes, options_.threads);
  });
  count(task.times->by_time, [&] {
    return RowsByTime::make(*task.times, task.edges, task.num_src_nodes, options_.threads);
  });
  count(task.times->order,
        [&] { return SortedTimes::make(*task.times, task.edges, options_.threads); });
}

template <typename Id>
void HopSampler<Id>::read_trees(const NodeIndexes<Id>& nodes,
                                std::span<const ListRange> destinations) {
  tree_nodes_.resize(std::max(tree_nodes_.size(), tree_keys_.size()));
  for (size_t t = 0; t < tree_keys_.size(); ++t) {
    tree_nodes_[t].assign(tree_keys_[t], destinations[t].of(nodes[t].ids()), seed_spans_);
    if (is_monotonic()) path_times_.narrow(t, destinations[t], tree_nodes_[t].times);
  }
}

template <typename Id>
RelationTask<Id> HopSampler<Id>::make_task(NodeIndexes<Id>& nodes,
                                           std::span<const ListRange> destinations,
                                           size_t edge_type,
                                           int hop) const {
  const EdgeType& edges = options_.graph->edge_types()[edge_type];
  const auto src = static_cast<size_t>(edges.src), dst = static_cast<size_t>(edges.dst);
  const std::optional<EdgeTimes>& times = edge_times_[edge_type];
  const bool excludes = !excluded_.empty() && !excluded_[edge_type].empty();
  const TreeNodes<Id>* const trees = tree_keys_.empty() ? nullptr : &tree_nodes_[dst];
  const auto in_list = destinations[dst].of(nodes[dst].ids());
  return {{.edge_type = edge_type,
           .edges = edges,
           .dst_rows = options_.graph->node_types()[dst].rows,
           .num_src_nodes = options_.graph->node_types()[src].num_nodes,
           .fanout = options_.sample.fanouts[edge_type][static_cast<size_t>(hop)],
           .dst_ids = trees == nullptr ? in_list : std::span<const Id>(trees->ids),
           .excluded = excludes ? &excluded_[edge_type] : nullptr,
           .source_keys = trees == nullptr ? nullptr : &tree_keys_[src],
           .times = times ? &*times : nullptr,
           .allowed = trees == nullptr ? std::span<const TimeSpan>()
                                       : std::span<const TimeSpan>(trees->times)},
          destinations[dst],
          nodes[dst],
          nodes[src],
          trees};
}

template void prepare(NodeIndexes<int32_t>&, const Graph&);
template void prepare_for_keys(NodeIndexes<int32_t>&, const Graph&);
template void prepare_for_keys(NodeIndexes<int64_t>&, const Graph&);
template void prepare(NodeIndexes<int64_t>&, const Graph&);
template void prepare(NodeIndexes<int32_t>&, const Graph&, std::span<const NodeRange>);
template void prepare(NodeIndexes<int64_t>&, const Graph&, std::span<const NodeRange>);
template std::vector<int64_t> sizes(const NodeIndexes<int32_t>&);
template std::vector<int64_t> sizes(const NodeIndexes<int64_t>&);
template Array to_int64(std::span<const int32_t>, BufferPool&);
template Array to_int64(std::span<const int64_t>, BufferPool&);
template class HopSampler<int32_t>;
template class HopSampler<int64_t>;

}  // namespace ramet
