#include "cached_nodes.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "loader/rows/batch_rows.h"
#include "ramet/part.h"
#include "tables/cache/hottest_rows.h"

namespace ramet {
namespace {

constexpr int64_t kMostCounted = int64_t{1} << 27;
constexpr int64_t kStretch = 4096;  // edges counted one after the other

std::vector<int64_t> zero_counts(const Graph& graph, int type) {
  const NodeType& nodes = graph.node_types()[static_cast<size_t>(type)];
  return std::vector<int64_t>(static_cast<size_t>(nodes.num_nodes));
}

std::vector<int64_t> out_degrees(const Graph& graph, int type) {
  std::vector<int64_t> degrees = zero_counts(graph, type);
  for (const EdgeType& edges : graph.edge_types())
    if (edges.src == type) count_ids(edges.indices, degrees);
  return degrees;
}

// Stretches of `ids`, evenly spread, with about `count` of them.
void count_some(const Array& ids, int64_t count, std::span<int64_t> counts) {
  const int64_t step = kStretch * std::max<int64_t>(1, (ids.rows() + count - 1) / count);
  for (int64_t begin = 0; begin < ids.rows(); begin += step) {
    Array some = ids;
    some.data = static_cast<char*>(some.data) + begin * ids.row_bytes();
    some.shape[0] = std::min(kStretch, ids.rows() - begin);
    count_ids(some, counts);
  }
}

// Of some nodes; none where there are no counts.
std::vector<int64_t> counts_at(std::span<const int64_t> nodes, std::span<const int64_t> counts) {
  std::vector<int64_t> found(counts.empty() ? 0 : nodes.size());
  for (size_t i = 0; i < found.size(); ++i)
    found[i] = counts[static_cast<size_t>(nodes[i])];
  return found;
}

// Those with rows that this process does not reach.
Array nodes_to_pull(const PulledTable& table) {
  std::vector<int64_t> nodes;
  for (size_t part = 0; part < table.is_local.size(); ++part) {
    if (table.is_local[part]) continue;
    const Array owned = table.positions.owned(static_cast<int64_t>(part));
    const auto ids = owned.as<int64_t>();
    nodes.insert(nodes.end(), ids.begin(), ids.end());
  }
  std::sort(nodes.begin(), nodes.end());
  return copy(borrow(std::span<const int64_t>(nodes)));
}

}  // namespace

NodeUses uses_by_degree(const Graph& graph, int type) {
  return {.counts = out_degrees(graph, type)};
}

NodeUses uses_by_presampling(std::shared_ptr<const Graph> graph,
                             const LoaderOptions& options,
                             const SeedsOfStep& seeds,
                             int64_t num_steps,
                             int type) {
  NodeUses uses{zero_counts(*graph, type), out_degrees(*graph, type)};
  std::vector<bool> seen(uses.counts.size());
  NeighborSampler sampler(graph, options.sample);
  for (int64_t step = 0; step < num_steps; ++step) {
    const SeedList of_step = seeds(step);
    const Minibatch batch = sampler.sample(of_step.view(), 0, static_cast<uint64_t>(step), nullptr,
                                           of_step.view_excluded());
    count_distinct_ids(batch.n_id[static_cast<size_t>(type)], seen, uses.counts);
  }
  return uses;
}

NodeUses count_uses(const std::shared_ptr<const Graph>& graph,
                    const LoaderOptions& options,
                    const SeedsOfStep& seeds,
                    int64_t num_steps,
                    int type,
                    CacheBy by) {
  if (by == CacheBy::kDegree) return uses_by_degree(*graph, type);
  const std::vector<Array>& presampled = options.cooperative.presampled;
  if (presampled.empty())
    return uses_by_presampling(graph, options, seeds, std::min(kPresampledSteps, num_steps), type);
  const auto counts = presampled[static_cast<size_t>(type)].as<int64_t>();
  return {{counts.begin(), counts.end()}, out_degrees(*graph, type)};
}

std::vector<int64_t> hottest_nodes(const NodeUses& uses,
                                   int64_t count,
                                   const std::optional<Array>& among) {
  if (!among) return hottest_rows(count, uses.counts, uses.second_counts);
  const auto nodes = among->as<int64_t>();
  std::vector<int64_t> hottest =
      hottest_rows(count, counts_at(nodes, uses.counts), counts_at(nodes, uses.second_counts));
  for (int64_t& id : hottest)
    id = nodes[static_cast<size_t>(id)];
  return hottest;
}

std::optional<Array> nodes_behind_cache(const Graph& graph,
                                        const TableRequest& request,
                                        const std::optional<Membership>& membership) {
  if (const PulledTable* pulled = request.pulled()) return nodes_to_pull(*pulled);
  const auto type = static_cast<size_t>(request.node_type);
  const NodeRows& rows = graph.node_types()[type].rows;
  if (!rows.is_whole()) return rows.nodes();
  if (!membership) return std::nullopt;
  return owned_nodes(membership->owners[type], membership->rank).nodes;
}

Array hottest_rows_of(const Graph& graph,
                      const LoaderOptions& options,
                      const TableRequest& request,
                      const NodeUses& uses,
                      int64_t count) {
  const std::vector<int64_t> nodes = hottest_nodes(
      uses, count, nodes_behind_cache(graph, request, options.cooperative.membership));
  return copy(rows_of_nodes(graph, request, nodes, *BufferPool::create()));
}

std::vector<int64_t> uses_by_some_edges(const Graph& graph, int type) {
  std::vector<int64_t> by_node = zero_counts(graph, type);
  int64_t edges = 0;
  for (const EdgeType& of_type : graph.edge_types())
    if (of_type.src == type) edges += of_type.indices.rows();
  for (const EdgeType& of_type : graph.edge_types())
    if (of_type.src == type && of_type.indices.rows() > 0)
      count_some(of_type.indices,
                 std::max<int64_t>(1, kMostCounted * of_type.indices.rows() / edges), by_node);
  return by_node;
}

std::vector<int64_t> uses_by_row(const Graph& graph,
                                 const TableRequest& request,
                                 int64_t num_rows) {
  const int type = request.node_type;
  std::vector<int64_t> by_node = uses_by_some_edges(graph, type);
  const NodeRows& rows = graph.node_types()[static_cast<size_t>(type)].rows;
  const RowPositions* const positions = request.positions();
  if (positions == nullptr && (request.table() != nullptr || rows.is_whole())) return by_node;
  std::vector<int64_t> nodes(by_node.size()), row_of(by_node.size());
  std::iota(nodes.begin(), nodes.end(), int64_t{0});
  if (positions != nullptr) {
    positions->look_up(nodes, row_of.data());
  } else {
    const Array own = rows.nodes();
    const auto ids = own.as<int64_t>();
    nodes.assign(ids.begin(), ids.end());
    std::iota(row_of.begin(), row_of.end(), int64_t{0});
  }
  std::vector<int64_t> by_row(static_cast<size_t>(num_rows));
  for (size_t i = 0; i < nodes.size(); ++i)
    by_row[static_cast<size_t>(row_of[i])] = by_node[static_cast<size_t>(nodes[i])];
  return by_row;
}

}  // namespace ramet
