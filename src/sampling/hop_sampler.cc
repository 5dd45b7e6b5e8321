// docs/semantics.md, sections 4 and 5. The work on one edge type is in uniform_sampler.cc and
// labor_sampler.cc.
#include "hop_sampler.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "ramet/error.h"
#include "ramet/store.h"

namespace ramet {

void check_seeds(std::span<const int64_t> seeds, const Graph& graph, size_t seed_type) {
  const std::vector<NodeType>& types = graph.node_types();
  require_index(static_cast<int64_t>(seed_type), static_cast<int64_t>(types.size()), "node type");
  const NodeType& type = types[seed_type];
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  if (seeds.size() > kMost) {
    throw Error(ErrorCode::kInvalidArgument,
                std::to_string(seeds.size()) + " seeds, expected at most " + std::to_string(kMost));
  }
  for (size_t i = 0; i < seeds.size(); ++i) {
    if (static_cast<uint64_t>(seeds[i]) >= static_cast<uint64_t>(type.num_nodes)) {
      throw Error(ErrorCode::kOutOfRange, "seeds[" + std::to_string(i) +
                                              "] = " + std::to_string(seeds[i]) +
                                              " is outside [0, " + std::to_string(type.num_nodes) +
                                              ") of node type '" + type.name + "'");
    }
  }
}

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
    : options_(std::move(options)), scratch_(scratch) {
  for (const NodeType& type : options_.graph->node_types())
    source_type_hash_.push_back(hash_name(encode_name(type.name)));
  if (has_importance()) scratch_.importance.prepare(*options_.graph);
}

template <typename Id>
int HopSampler<Id>::num_hops() const {
  return static_cast<int>(options_.sample.fanouts.front().size());
}

template <typename Id>
HopImportance<Id>& HopSampler<Id>::weigh_candidates(NodeIndexes<Id>& nodes,
                                                    std::span<const int64_t> num_dst,
                                                    int hop) {
  scratch_.importance.start();
  for (size_t t = 0; t < options_.graph->edge_types().size(); ++t)
    scratch_.importance.add(make_task(nodes, num_dst, t, hop));
  return scratch_.importance;
}

template <typename Id>
std::vector<Relation> HopSampler<Id>::sample(NodeIndexes<Id>& nodes,
                                             std::span<const int64_t> num_dst,
                                             const DrawKeys& step_keys,
                                             int hop) {
  std::vector<Relation> relations;
  for (size_t t = 0; t < options_.graph->edge_types().size(); ++t) {
    const RelationTask<Id> task = make_task(nodes, num_dst, t, hop);
    relations.push_back(options_.sample.sampler == Sampler::kLabor
                            ? sample_with_labor(task, t, step_keys, hop)
                            : sample_uniformly(task, step_keys, hop));
    relations.back().edge_type = static_cast<int>(t);
  }
  return relations;
}

template <typename Id>
RelationTask<Id> HopSampler<Id>::make_task(NodeIndexes<Id>& nodes,
                                           std::span<const int64_t> num_dst,
                                           size_t edge_type,
                                           int hop) const {
  const EdgeType& edges = options_.graph->edge_types()[edge_type];
  const auto src = static_cast<size_t>(edges.src), dst = static_cast<size_t>(edges.dst);
  return {.edges = edges,
          .dst_rows = options_.graph->node_types()[dst].rows,
          .num_src_nodes = options_.graph->node_types()[src].num_nodes,
          .fanout = options_.sample.fanouts[edge_type][static_cast<size_t>(hop)],
          .num_dst = num_dst[dst],
          .destinations = nodes[dst],
          .sources = nodes[src]};
}

template <typename Id>
Relation HopSampler<Id>::sample_uniformly(const RelationTask<Id>& task,
                                          const DrawKeys& step_keys,
                                          int hop) {
  // All neighbors are taken once each.
  const bool repeats = options_.sample.replace && task.fanout != kAllNeighbors;
  const UniformDraws draws{hop_keys(step_keys, static_cast<uint64_t>(hop), task.edges.name_hash),
                           repeats};
  return sample_uniform(task, draws, scratch_.uniform, *options_.pool, options_.threads);
}

template <typename Id>
Relation HopSampler<Id>::sample_with_labor(const RelationTask<Id>& task,
                                           size_t edge_type,
                                           const DrawKeys& step_keys,
                                           int hop) {
  const int key_hop = options_.sample.layer_dependent ? 0 : hop;
  const uint64_t type_hash = source_type_hash_[static_cast<size_t>(task.edges.src)];
  const LaborDraws draws{hop_keys(step_keys, static_cast<uint64_t>(key_hop), type_hash),
                         has_importance() ? &scratch_.importance.relation(edge_type) : nullptr,
                         options_.sample.weights};
  return sample_labor(task, draws, scratch_.labor, *options_.pool, options_.threads);
}

template void prepare(NodeIndexes<int32_t>&, const Graph&);
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
