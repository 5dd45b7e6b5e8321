#include "gather_table.h"

#include <utility>

namespace ramet {
namespace {

const NodeType& type_of(const NeighborLoader& loader, const TableRequest& request) {
  return loader.graph()->node_types()[static_cast<size_t>(request.node_type)];
}

TableForm form_of(const Table& table, bool decode) {
  const Array& rows = table.rows();
  if (!decode || !table.is_encoded()) return {rows.dtype, rows.row_bytes()};
  const int64_t elements = rows.row_bytes() / item_size(rows.dtype);
  return {DType::kFloat32, elements * item_size(DType::kFloat32)};
}

// Which rows of its type's tables are those of `nodes`.
Array rows_of(const NeighborLoader& loader, const NodeType& type, std::span<const int64_t> nodes) {
  if (type.rows.is_whole()) return borrow(nodes);
  const auto count = static_cast<int64_t>(nodes.size());
  Array rows = loader.pool()->allocate_array(DType::kInt64, {count});
  type.rows.require(nodes, static_cast<int64_t*>(rows.data));
  return rows;
}

}  // namespace

Table table_of(const NeighborLoader& loader, const TableRequest& request) {
  const NodeType& type = type_of(loader, request);
  const auto scale = type.scales.find(request.name);
  return {type.tables.at(request.name), scale == type.scales.end() ? Array{} : scale->second,
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
  std::span<const int64_t> nodes =
      minibatch.n_id[static_cast<size_t>(request.node_type)].as<int64_t>();
  if (request.at_seeds) nodes = nodes.first(static_cast<size_t>(minibatch.num_seeds));
  const Array rows = rows_of(loader, type_of(loader, request), nodes);
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
