#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "ramet/error.h"
#include "ramet/induced.h"
#include "ramet/subgraphs.h"

namespace ramet {
namespace {

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();

Array as_int32(std::span<const int64_t> values, BufferPool& pool) {
  Array array = pool.allocate_array(DType::kInt32, {std::ssize(values)});
  std::transform(values.begin(), values.end(), static_cast<int32_t*>(array.data),
                 [](int64_t value) { return static_cast<int32_t>(value); });
  return array;
}

// The edges from some nodes of the source type to some of the destination type.
Relation induced_relation(const Graph& graph,
                          int edge_type,
                          std::span<const int64_t> sources,
                          std::span<const int64_t> destinations,
                          BufferPool& pool) {
  const std::vector<int64_t> of_sources = {0, std::ssize(sources)};
  const std::vector<int64_t> of_destinations = {0, std::ssize(destinations)};
  const InducedEdges found =
      induced_edges(graph, edge_type, {sources, of_sources}, {destinations, of_destinations},
                    EdgeOrder::kByDestination);
  const auto ends = found.edge_index.as<int64_t>();
  const auto num_found = static_cast<size_t>(found.position.rows());
  std::vector<int64_t> indptr(destinations.size() + 1);
  for (const int64_t destination : ends.subspan(num_found))
    ++indptr[static_cast<size_t>(destination) + 1];
  std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
  const EdgeType& edges = graph.edge_types()[static_cast<size_t>(edge_type)];
  Relation relation{.edge_type = edge_type,
                    .indptr = copy(borrow(indptr), pool),
                    .indices = as_int32(ends.first(num_found), pool),
                    .position = found.position,
                    .edge_weight = {}};
  if (edges.num_edges() <= kInt32Max)
    relation.position = as_int32(found.position.as<int64_t>(), pool);
  return relation;
}

}  // namespace

Minibatch induced_minibatch(const Graph& graph, std::span<const Seeds> nodes, BufferPool& pool) {
  Minibatch batch;
  batch.merged = batch.induced = true;
  const auto& types = graph.node_types();
  std::vector<std::span<const int64_t>> ids(types.size());
  for (const Seeds& of_type : nodes) {
    require_index(of_type.type, std::ssize(types), "node type");
    ids[static_cast<size_t>(of_type.type)] = of_type.ids;
    batch.seeds.push_back({of_type.type, std::ssize(of_type.ids)});
    batch.num_seeds += std::ssize(of_type.ids);
  }
  if (batch.num_seeds > kInt32Max)
    throw_invalid(batch.num_seeds, " nodes of a subgraph, expected at most ", kInt32Max);
  Block block;
  for (const auto of_type : ids) {
    batch.n_id.push_back(copy(borrow(of_type), pool));
    block.num_src.push_back(std::ssize(of_type));
    block.first_dst.push_back(0);
    block.num_dst.push_back(std::ssize(of_type));
  }
  for (int type = 0; type < std::ssize(graph.edge_types()); ++type) {
    const EdgeType& edges = graph.edge_types()[static_cast<size_t>(type)];
    block.relations.push_back(induced_relation(graph, type, ids[static_cast<size_t>(edges.src)],
                                               ids[static_cast<size_t>(edges.dst)], pool));
  }
  batch.blocks.push_back(std::move(block));
  return batch;
}

}  // namespace ramet
