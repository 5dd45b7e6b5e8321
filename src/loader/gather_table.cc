#include "gather_table.h"

#include <utility>

#include "ramet/sampler.h"

namespace ramet {
namespace {

TableForm form_of(const Table& table, bool decode) {
  const Array& rows = table.rows();
  if (!decode || !table.is_encoded()) return {rows.dtype, rows.row_bytes()};
  const int64_t elements = rows.row_bytes() / item_size(rows.dtype);
  return {DType::kFloat32, elements * item_size(DType::kFloat32)};
}

// Which rows of its type's tables are those of the nodes of a request.
Array rows_of_nodes(const NeighborLoader& loader,
                    const TableRequest& request,
                    const Minibatch& minibatch) {
  const auto node_type = static_cast<size_t>(request.node_type);
  const NodeType& type = loader.graph()->node_types()[node_type];
  std::span<const int64_t> nodes = minibatch.n_id[node_type].as<int64_t>();
  if (request.at_seeds) nodes = nodes.first(static_cast<size_t>(minibatch.num_seeds));
  if (type.rows.is_whole()) return borrow(nodes);
  const auto count = static_cast<int64_t>(nodes.size());
  Array rows = loader.pool()->allocate_array(DType::kInt64, {count});
  type.rows.require(nodes, static_cast<int64_t*>(rows.data));
  return rows;
}

// The positions of the edges of all blocks.
Array rows_of_edges(const NeighborLoader& loader, int edge_type, const Minibatch& minibatch) {
  const auto type = static_cast<size_t>(edge_type);
  Array rows = loader.pool()->allocate_array(DType::kInt64, {num_edges(minibatch, edge_type)});
  auto* row = static_cast<int64_t*>(rows.data);
  for (const Block& block : minibatch.blocks) {
    with_ids(block.relations[type].position,
             [&](auto position) { row = std::copy(position.begin(), position.end(), row); });
  }
  return rows;
}

}  // namespace

int64_t num_edges(const Minibatch& minibatch, int edge_type) {
  int64_t count = 0;
  for (const Block& block : minibatch.blocks)
    count += block.relations[static_cast<size_t>(edge_type)].indices.rows();
  return count;
}

TablesOfType tables_of(const Graph& graph, const TableRequest& request) {
  if (request.is_of_edges()) {
    const EdgeType& type = graph.edge_types()[static_cast<size_t>(request.edge_type)];
    return {"edge type '" + type.encoded + "'", &type.tables, &type.scales};
  }
  const NodeType& type = graph.node_types()[static_cast<size_t>(request.node_type)];
  return {"node type '" + type.name + "'", &type.tables, &type.scales};
}

Table table_of(const NeighborLoader& loader, const TableRequest& request) {
  const TablesOfType of = tables_of(*loader.graph(), request);
  const auto scale = of.scales->find(request.name);
  return {of.tables->at(request.name), scale == of.scales->end() ? Array{} : scale->second,
          request.name};
}

TableForm form_of(const NeighborLoader& loader, const TableRequest& request) {
  return form_of(table_of(loader, request), loader.options().decode);
}

Array gather_table(const NeighborLoader& loader,
                   const TableRequest& request,
                   const Minibatch& minibatch,
                   RowCache* cache) {
  const Table table = table_of(loader, request);
  const TableForm form = form_of(table, loader.options().decode);
  const Array rows = request.is_of_edges() ? rows_of_edges(loader, request.edge_type, minibatch)
                                           : rows_of_nodes(loader, request, minibatch);
  const auto ids = rows.as<int64_t>();
  std::vector<int64_t> shape = table.rows().shape;
  shape[0] = static_cast<int64_t>(ids.size());
  Array out = loader.pool()->allocate_array(form.dtype, std::move(shape));
  const auto read = [&](std::span<const int64_t> some, void* to) {
    if (form.dtype == table.rows().dtype)
      table.gather(some, to);
    else
      table.gather_float32(some, static_cast<float*>(to));
  };
  if (cache == nullptr) {
    read(ids, out.data);
  } else {
    cache->gather(ids, out.data, read);
  }
  return out;
}

}  // namespace ramet
