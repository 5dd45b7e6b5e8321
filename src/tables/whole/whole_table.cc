#include "ramet/whole_table.h"

#include <utility>

#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/table_rows.h"
#include "tables/host/gather_rows.h"

namespace ramet {

namespace {

// Looks up a chunk of ids at a time, just before its rows are read.
RowsOfIds looked_up(const RowPositions& positions, std::span<const int64_t> ids) {
  return [&positions, ids](int64_t begin, int64_t end, std::vector<int64_t>& buffer) {
    buffer.resize(static_cast<size_t>(end - begin));
    positions.look_up(ids, begin, end, buffer.data());
    return static_cast<const int64_t*>(buffer.data());
  };
}

}  // namespace

WholeTable::WholeTable(Table rows_by_position, RowPositions positions)
    : rows_(std::move(rows_by_position)), positions_(std::move(positions)) {
  if (rows_.rows().rows() != positions_.num_positions())
    throw_invalid(rows_.rows().rows(), " rows for ", positions_.num_positions(), " positions");
}

std::vector<int64_t> WholeTable::positions_of(std::span<const int64_t> ids, int threads) const {
  std::vector<int64_t> positions(ids.size());
  positions_.look_up(ids, positions.data(), threads);
  return positions;
}

void WholeTable::gather(std::span<const int64_t> ids, void* out, int threads) const {
  gather_rows(rows_, std::ssize(ids), looked_up(positions_, ids), out, threads);
}

Array WholeTable::gather(std::span<const int64_t> ids, int threads) const {
  const RowForm form = rows_.form(false);
  Array out = BufferPool::shared()->allocate_array(form.dtype, form.shape_of(std::ssize(ids)));
  gather(ids, out.data, threads);
  return out;
}

void WholeTable::gather_float32(std::span<const int64_t> ids, float* out, int threads) const {
  gather_rows_float32(rows_, std::ssize(ids), looked_up(positions_, ids), out, threads);
}

Array WholeTable::gather_float32(std::span<const int64_t> ids, int threads) const {
  if (rows_.rows().dtype != DType::kFloat32) static_cast<void>(rows_.encoding());  // may throw
  const RowForm form = rows_.form(true);
  Array out = BufferPool::shared()->allocate_array(form.dtype, form.shape_of(std::ssize(ids)));
  gather_float32(ids, static_cast<float*>(out.data), threads);
  return out;
}

void WholeTable::set_rows(std::span<const int64_t> ids, const Array& rows, int threads) const {
  const std::vector<int64_t> positions = positions_of(ids, threads);
  const RowList list{positions, rows};
  ramet::set_rows(rows_.rows(), std::span(&list, 1), {0, positions_.num_positions()}, threads);
}

void WholeTable::sum_rows(std::span<const int64_t> ids, const Array& rows, int threads) const {
  const std::vector<int64_t> positions = positions_of(ids, threads);
  const RowList list{positions, rows};
  ramet::sum_rows(rows_.rows(), std::span(&list, 1), {0, positions_.num_positions()}, threads);
}

Array WholeTable::piece(int64_t part) const {
  const NodeRange positions = positions_.positions_of(part);
  Array rows = rows_.rows();
  rows.data = static_cast<char*>(rows.data) + positions.begin * rows.row_bytes();
  rows.shape[0] = positions.size();
  return rows;
}

}  // namespace ramet
