#include "batch_rows.h"

#include <algorithm>
#include <cstring>

#include "kernels/cuda_backend.h"
#include "ramet/cuda_sampler.h"

namespace ramet {
namespace {

int64_t num_edges(const Minibatch& minibatch, size_t edge_type) {
  int64_t count = 0;
  for (const Block& block : minibatch.blocks)
    count += block.relations[edge_type].indices.rows();
  return count;
}

// In the order in which tables of edges are gathered.
template <typename Body>
void for_each_relation(const Minibatch& minibatch, size_t edge_type, Body&& body) {
  const auto& blocks = minibatch.blocks;
  for (size_t i = 0; i < blocks.size(); ++i)
    body(blocks[minibatch.merged ? blocks.size() - 1 - i : i].relations[edge_type]);
}

}  // namespace

Table table_of(const Graph& graph, const TableRequest& request) {
  if (const Table* provided = request.table()) return *provided;
  if (request.is_of_edges()) {
    const EdgeType& type = graph.edge_types()[static_cast<size_t>(request.edge_type)];
    return find_table(type.tables, type.scales, request.name, "edge type '" + type.encoded + "'");
  }
  const NodeType& type = graph.node_types()[static_cast<size_t>(request.node_type)];
  return find_table(type.tables, type.scales, request.name, "node type '" + type.name + "'");
}

int64_t bytes_of(const Table& table) {
  return table.rows().bytes() + (table.has_scale() ? table.scale().bytes() : 0);
}

std::span<const int64_t> nodes_of(const TableRequest& request, const Minibatch& minibatch) {
  const auto node_type = static_cast<size_t>(request.node_type);
  const auto nodes = minibatch.n_id[node_type].as<int64_t>();
  if (request.at_seeds) return nodes.first(static_cast<size_t>(num_seeds(minibatch, node_type)));
  if (!request.fused || minibatch.blocks.empty()) return nodes;
  return nodes.first(static_cast<size_t>(minibatch.blocks[0].num_dst[node_type]));
}

Array rows_of(const Graph& graph,
              const TableRequest& request,
              const Minibatch& minibatch,
              BufferPool& pool) {
  if (request.is_of_edges()) {
    const auto type = static_cast<size_t>(request.edge_type);
    Array rows = pool.allocate_array(DType::kInt64, {num_edges(minibatch, type)});
    auto* row = static_cast<int64_t*>(rows.data);
    for_each_relation(minibatch, type, [&](const Relation& relation) {
      with_ids(relation.position, [&](auto p) { row = std::copy(p.begin(), p.end(), row); });
    });
    return rows;
  }
  return rows_of_nodes(graph, request, nodes_of(request, minibatch), pool);
}

Array rows_of_nodes(const Graph& graph,
                    const TableRequest& request,
                    std::span<const int64_t> nodes,
                    BufferPool& pool) {
  const auto node_type = static_cast<size_t>(request.node_type);
  const NodeRows& rows_of_type = graph.node_types()[node_type].rows;
  const RowPositions* const positions = request.positions();
  if (positions == nullptr && (request.table() != nullptr || rows_of_type.is_whole()))
    return borrow(nodes);
  Array rows = pool.allocate_array(DType::kInt64, {std::ssize(nodes)});
  auto* const row = static_cast<int64_t*>(rows.data);
  if (positions != nullptr)
    positions->look_up(nodes, row);
  else
    rows_of_type.require(nodes, row);
  return rows;
}

void hide_seeds(const TableRequest& request,
                const Minibatch& minibatch,
                const Array& rows,
                CudaStreamHandle stream) {
  if (request.hidden.empty() || rows.rows() == 0) return;
  const int64_t count = num_seeds(minibatch, static_cast<size_t>(request.node_type));
  const int64_t row_bytes = rows.bytes() / rows.rows(), bytes = item_size(rows.dtype);
  for (const auto& [begin, end] : request.hidden) {
    char* const first = static_cast<char*>(rows.data) + begin * bytes;
    const int64_t length = (end - begin) * bytes;
    if (rows.device != kHost)
      require_cuda().runtime.clear_columns(rows.device, first, row_bytes, length, count, stream);
    else
      for (int64_t i = 0; i < count; ++i)
        std::memset(first + i * row_bytes, 0, static_cast<size_t>(length));
  }
}

Array rows_on_device(const TableRequest& request,
                     const Minibatch& minibatch,
                     BufferPool& pool,
                     CudaStreamHandle stream) {
  if (!request.is_of_edges()) {
    const auto node_type = static_cast<size_t>(request.node_type);
    Array ids = minibatch.n_id[node_type];
    if (request.at_seeds) ids.shape[0] = num_seeds(minibatch, node_type);
    if (request.fused && !minibatch.blocks.empty())
      ids.shape[0] = minibatch.blocks[0].num_dst[node_type];
    return ids;
  }
  const auto type = static_cast<size_t>(request.edge_type);
  const Array rows = pool.allocate_array(DType::kInt64, {num_edges(minibatch, type)});
  auto* row = static_cast<int64_t*>(rows.data);
  for_each_relation(minibatch, type, [&](const Relation& relation) {
    const Array of_block = positions(relation, pool, stream);
    if (of_block.rows() == 0) return;
    require_cuda().runtime.copy(rows.device, row, of_block.data, of_block.bytes(), stream);
    row += of_block.rows();
  });
  return rows;
}

}  // namespace ramet
