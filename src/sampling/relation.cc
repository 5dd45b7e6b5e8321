// What callers derive from a relation on access.
#include <algorithm>

#include "base/prefetch.h"
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

Array allocate(DType dtype, int64_t num_edges) {
  return BufferPool::shared()->allocate_array(dtype, {num_edges});
}

// Each writes what its function returns, to memory for the edges of the relation.

void write_positions(const Relation& relation, int64_t* out) {
  with_ids(relation.position, [&](auto p) { std::copy(p.begin(), p.end(), out); });
}

void write_edge_ids(const EdgeType& edges, const Relation& relation, int64_t* out) {
  if (!edges.has_edge_ids()) return write_positions(relation, out);
  with_ids(relation.position, [&](auto position) {
    with_ids(edges.edge_ids, [&](auto ids) {
      constexpr size_t kAhead = 64;
      for (size_t e = 0; e < position.size(); ++e) {
        if (e + kAhead < position.size()) prefetch(&ids.data()[position[e + kAhead]]);
        const auto p = static_cast<uint64_t>(static_cast<int64_t>(position[e]));
        if (p >= ids.size()) bad_position(relation, e, edges);
        out[e] = ids[p];
      }
    });
  });
}

void write_edge_weights(const Relation& relation, float* out) {
  if (relation.edge_weight.data != nullptr) {
    const auto weights = relation.edge_weight.as<float>();
    std::copy(weights.begin(), weights.end(), out);
    return;
  }
  for_each_destination(relation, [&](size_t, int64_t begin, int64_t end) {
    std::fill(out + begin, out + end, static_cast<float>(1 / static_cast<double>(end - begin)));
  });
}

void write_edge_index(const Relation& relation,
                      int64_t first_dst,
                      int64_t* sources,
                      int64_t* destinations) {
  const auto indices = relation.indices.as<int32_t>();
  std::copy(indices.begin(), indices.end(), sources);
  for_each_destination(relation, [&](size_t i, int64_t begin, int64_t end) {
    std::fill(destinations + begin, destinations + end, first_dst + static_cast<int64_t>(i));
  });
}

const EdgeType& type_of(const Graph& graph, int edge_type) {
  return graph.edge_types()[static_cast<size_t>(edge_type)];
}

const Relation& relation_of(const Block& block, int edge_type) {
  return block.relations[static_cast<size_t>(edge_type)];
}

int64_t num_edges(const Minibatch& batch, int edge_type) {
  int64_t count = 0;
  for (const Block& block : batch.blocks)
    count += relation_of(block, edge_type).indices.rows();
  return count;
}

// Calls body(block, relation, first edge) for every hop, the seeds' first.
template <typename Body>
void for_each_hop(const Minibatch& batch, int edge_type, Body&& body) {
  int64_t first = 0;
  for (auto block = batch.blocks.rbegin(); block != batch.blocks.rend(); ++block) {
    const Relation& relation = relation_of(*block, edge_type);
    require_on_host(relation);
    body(*block, relation, first);
    first += relation.indices.rows();
  }
}

// A value of each edge of all hops. write(relation, out): those of one.
template <typename T, typename Write>
Array merged(const Minibatch& batch, int edge_type, const Write& write) {
  Array result = allocate(kDTypeOf<T>, num_edges(batch, edge_type));
  auto* const out = static_cast<T*>(result.data);
  for_each_hop(batch, edge_type, [&](const Block&, const Relation& relation, int64_t first) {
    write(relation, out + first);
  });
  return result;
}

}  // namespace

Array positions(const Relation& relation) {
  require_on_host(relation);
  if (relation.position.dtype == DType::kInt64) return relation.position;
  Array result = allocate(DType::kInt64, relation.position.rows());
  write_positions(relation, static_cast<int64_t*>(result.data));
  return result;
}

Array edge_ids(const Graph& graph, const Relation& relation) {
  const EdgeType& edges = type_of(graph, relation.edge_type);
  if (!edges.has_edge_ids()) return positions(relation);
  require_on_host(relation);
  Array result = allocate(DType::kInt64, relation.position.rows());
  write_edge_ids(edges, relation, static_cast<int64_t*>(result.data));
  return result;
}

bool has_weights(const Block& block) {
  return std::any_of(block.relations.begin(), block.relations.end(),
                     [](const Relation& r) { return r.edge_weight.data != nullptr; });
}

Array edge_weights(const Relation& relation) {
  require_on_host(relation);
  if (relation.edge_weight.data != nullptr) return relation.edge_weight;
  Array result = allocate(DType::kFloat32, relation.indices.rows());
  write_edge_weights(relation, static_cast<float*>(result.data));
  return result;
}

Array edge_index(const Relation& relation) {
  require_on_host(relation);
  const int64_t num_edges = relation.indices.rows();
  Array result = BufferPool::shared()->allocate_array(DType::kInt64, {2, num_edges});
  auto* const sources = static_cast<int64_t*>(result.data);
  write_edge_index(relation, 0, sources, sources + num_edges);
  return result;
}

int64_t num_seeds(const Minibatch& batch, size_t node_type) {
  for (const SeedCount& seeds : batch.seeds) {
    if (seeds.type == static_cast<int>(node_type)) return seeds.count;
  }
  return 0;
}

std::vector<int64_t> num_sampled_nodes(const Minibatch& batch, size_t node_type) {
  std::vector<int64_t> counts{num_seeds(batch, node_type)};
  for (auto block = batch.blocks.rbegin(); block != batch.blocks.rend(); ++block) {
    const int64_t before = block->first_dst[node_type] + block->num_dst[node_type];
    counts.push_back(block->num_src[node_type] - before);
  }
  return counts;
}

std::vector<int64_t> num_sampled_edges(const Minibatch& batch, size_t edge_type) {
  std::vector<int64_t> counts;
  for (auto block = batch.blocks.rbegin(); block != batch.blocks.rend(); ++block)
    counts.push_back(block->relations[edge_type].indices.rows());
  return counts;
}

Array merged_positions(const Minibatch& batch, int edge_type) {
  return merged<int64_t>(batch, edge_type, write_positions);
}

Array merged_edge_ids(const Graph& graph, const Minibatch& batch, int edge_type) {
  const EdgeType& edges = type_of(graph, edge_type);
  return merged<int64_t>(batch, edge_type, [&](const Relation& relation, int64_t* out) {
    write_edge_ids(edges, relation, out);
  });
}

Array merged_edge_weights(const Minibatch& batch, int edge_type) {
  return merged<float>(batch, edge_type, write_edge_weights);
}

Array merged_edge_index(const Graph& graph, const Minibatch& batch, int edge_type) {
  const int64_t count = num_edges(batch, edge_type);
  const auto dst = static_cast<size_t>(type_of(graph, edge_type).dst);
  Array result = BufferPool::shared()->allocate_array(DType::kInt64, {2, count});
  auto* const sources = static_cast<int64_t*>(result.data);
  for_each_hop(batch, edge_type, [&](const Block& block, const Relation& relation, int64_t first) {
    write_edge_index(relation, block.first_dst[dst], sources + first, sources + count + first);
  });
  return result;
}

}  // namespace ramet
