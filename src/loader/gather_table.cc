#include "gather_table.h"

#include <utility>

namespace ramet {
namespace {

const NodeType& type_of(const NeighborLoader& loader, const TableRequest& request) {
  return loader.graph()->node_types()[static_cast<size_t>(request.node_type)];
}

Table table_of(const NeighborLoader& loader, const TableRequest& request) {
  const NodeType& type = type_of(loader, request);
  const auto scale = type.scales.find(request.name);
  return {type.tables.at(request.name), scale == type.scales.end() ? Array{} : scale->second,
          request.name};
}

TableForm form_of(const Table& table, bool decode) {
  const Array& rows = table.rows();
  if (!decode || !table.is_encoded()) return {rows.dtype, rows.row_bytes()};
  const int64_t elements = rows.row_bytes() / item_size(rows.dtype);
  return {DType::kFloat32, elements * item_size(DType::kFloat32)};
}

}  // namespace

TableForm form_of(const NeighborLoader& loader, const TableRequest& request) {
  return form_of(table_of(loader, request), loader.options().decode);
}

Array gather_table(const NeighborLoader& loader,
                   const TableRequest& request,
                   const Minibatch& minibatch,
                   RowCache* cache) {
  const Table table = table_of(loader, request);
  const TableForm form = form_of(table, loader.options().decode);
  std::span<const int64_t> ids =
      minibatch.n_id[static_cast<size_t>(request.node_type)].as<int64_t>();
  if (request.at_seeds) ids = ids.first(static_cast<size_t>(minibatch.num_seeds));
  std::vector<int64_t> shape = table.rows().shape;
  shape[0] = static_cast<int64_t>(ids.size());
  Array out = loader.pool()->allocate_array(form.dtype, std::move(shape));
  const auto read = [&](std::span<const int64_t> rows, void* to) {
    if (form.dtype == table.rows().dtype)
      table.gather(rows, to);
    else
      table.gather_float32(rows, static_cast<float*>(to));
  };
  if (cache == nullptr) {
    read(ids, out.data);
  } else {
    cache->gather(ids, out.data, read);
  }
  return out;
}

}  // namespace ramet
