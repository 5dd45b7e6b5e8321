// What callers derive from a relation on access.
#include <algorithm>

#include "edges_of.h"
#include "ramet/error.h"
#include "ramet/sampler.h"

namespace ramet {
namespace {

void require_on_host(const Relation& relation) {
  if (relation.indptr.device == kHost) return;
  throw_invalid("a relation on device ", relation.indptr.device,
                "; cuda_sampler.h has the functions for those");
}

[[noreturn]] void bad_position(const Relation& relation, size_t edge, const EdgeType& edges) {
  const int64_t value =
      with_ids(relation.position, [&](auto p) { return static_cast<int64_t>(p[edge]); });
  throw_error(ErrorCode::kOutOfRange, "position[", edge, "] = ", value,
              " in a block is outside [0, ", edges.num_edges(), ") of edge type '", edges.encoded,
              "': the block has been written to");
}

}  // namespace

Array positions(const Relation& relation) {
  require_on_host(relation);
  if (relation.position.dtype == DType::kInt64) return relation.position;
  Array result = BufferPool::shared()->allocate_array(DType::kInt64, {relation.position.rows()});
  const auto position = relation.position.as<int32_t>();
  std::copy(position.begin(), position.end(), static_cast<int64_t*>(result.data));
  return result;
}

Array edge_ids(const Graph& graph, const Relation& relation) {
  const EdgeType& edges = graph.edge_types()[static_cast<size_t>(relation.edge_type)];
  if (!edges.has_edge_ids()) return positions(relation);
  require_on_host(relation);
  Array result = BufferPool::shared()->allocate_array(DType::kInt64, {relation.position.rows()});
  with_ids(relation.position, [&](auto position) {
    with_ids(edges.edge_ids, [&](auto ids) {
      auto* id = static_cast<int64_t*>(result.data);
      for (size_t e = 0; e < position.size(); ++e) {
        const auto p = static_cast<uint64_t>(static_cast<int64_t>(position[e]));
        if (p >= ids.size()) bad_position(relation, e, edges);
        id[e] = ids[p];
      }
    });
  });
  return result;
}

bool has_weights(const Block& block) {
  return std::any_of(block.relations.begin(), block.relations.end(),
                     [](const Relation& r) { return r.edge_weight.data != nullptr; });
}

Array edge_weights(const Relation& relation) {
  require_on_host(relation);
  if (relation.edge_weight.data != nullptr) return relation.edge_weight;
  Array result = BufferPool::shared()->allocate_array(DType::kFloat32, {relation.indices.rows()});
  auto* weight = static_cast<float*>(result.data);
  for_each_destination(relation, [&](size_t, int64_t begin, int64_t end) {
    std::fill(weight + begin, weight + end,
              static_cast<float>(1 / static_cast<double>(end - begin)));
  });
  return result;
}

Array edge_index(const Relation& relation) {
  require_on_host(relation);
  const auto indices = relation.indices.as<int32_t>();
  const int64_t num_edges = relation.indices.rows();
  Array result = BufferPool::shared()->allocate_array(DType::kInt64, {2, num_edges});
  auto* sources = static_cast<int64_t*>(result.data);
  auto* destinations = sources + num_edges;
  std::copy(indices.begin(), indices.end(), sources);
  for_each_destination(relation, [&](size_t i, int64_t begin, int64_t end) {
    std::fill(destinations + begin, destinations + end, static_cast<int64_t>(i));
  });
  return result;
}

}  // namespace ramet
