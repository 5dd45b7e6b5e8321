#include "ramet/device_table.h"

#include "device_positions.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"

namespace ramet {
namespace {

int64_t read_id(const Array& ids, uint64_t position, CudaStreamHandle stream) {
  return with_ids(ids, [&](auto all) {
    auto id = all[0];
    id = 0;
    require_cuda().runtime.copy(ids.device, &id, &all[static_cast<size_t>(position)], sizeof(id),
                                stream);
    require_cuda().runtime.synchronize(ids.device, stream);
    return static_cast<int64_t>(id);
  });
}

CudaTableOptions options_of(const Table& table) {
  if (table.rows().device == kHost)
    throw_invalid(table.name(), " lies on the host, expected a device");
  return {.device = table.rows().device, .placement = Location::kInPlace};
}

}  // namespace

DeviceTable::DeviceTable(Table rows_by_position, const std::optional<RowPositions>& positions)
    : rows_(rows_by_position, options_of(rows_by_position)),
      num_rows_(rows_by_position.rows().rows()) {
  if (!positions) return;
  is_dense_ = positions->is_dense();
  num_rows_ = positions->num_rows();
  positions_ = std::make_shared<const DevicePositions>(*positions, rows_.device());
}

DeviceTable::DeviceTable(Table on_host, const Array& ids, const Table& cached)
    : rows_(on_host,
            {.device = options_of(cached).device, .cached = ids, .cached_rows = cached.rows()}),
      num_rows_(on_host.rows().rows()) {}

void DeviceTable::gather(const Array& ids,
                         const Array& out,
                         CudaStreamHandle stream,
                         const CudaGatherOptions& options) const {
  CudaGatherOptions checked = options;
  checked.check = is_dense_;
  if (is_dense_) return rows_.gather(ids, out, stream, checked);
  const auto pool = DevicePool::shared(rows_.device())->on(stream);
  const Array positions = pool->allocate_array(DType::kInt64, {ids.rows()});
  look_up(ids, positions, stream);
  rows_.gather(positions, out, stream, checked);
}

void DeviceTable::look_up(const Array& ids, const Array& positions, CudaStreamHandle stream) const {
  if (positions_ == nullptr || positions.dtype != DType::kInt64 || positions.rows() != ids.rows() ||
      positions.device != rows_.device())
    throw_invalid("positions of ", ids.describe(), " do not fit ", positions.describe());
  const CudaRuntime& runtime = require_cuda().runtime;
  const auto pool = DevicePool::shared(rows_.device())->on(stream);
  const Array word = pool->allocate_array(DType::kInt64, {1});
  runtime.fill(word.device, word.data, 0xFF, word.bytes(), stream);
  positions_->look_up(ids, positions, stream, static_cast<uint64_t*>(word.data));
  uint64_t bad = kNoBadId;
  runtime.copy(word.device, &bad, word.data, word.bytes(), stream);
  runtime.synchronize(word.device, stream);
  if (bad != kNoBadId)
    throw_error(ErrorCode::kOutOfRange, "ids[", bad, "] = ", read_id(ids, bad, stream),
                " is outside the ", num_rows_, " rows of ", rows_.table().name());
}

void gather_device_rows(const Array& rows,
                        const Array& ids,
                        const Array& out,
                        CudaStreamHandle stream) {
  if (rows.device == kHost || ids.device != rows.device || out.device != rows.device ||
      ids.dtype != DType::kInt64 || out.rows() != ids.rows())
    throw_invalid(rows.describe(), " read by ", ids.describe(), " into ", out.describe());
  const Table table(rows);
  const RowForm form = table.form(out.dtype != rows.dtype);
  if (out.dtype != form.dtype || out.shape != form.shape_of(ids.rows()))
    throw_invalid("rows of ", rows.describe(), " do not fit ", out.describe());
  const CudaGatherArgs args{.table = rows.data,
                            .num_rows = rows.rows(),
                            .row_bytes = rows.row_bytes(),
                            .ids = ids.data,
                            .wide_ids = true,
                            .num_ids = ids.rows(),
                            .out = out.data};
  if (args.num_ids == 0 || args.row_bytes == 0) return;
  if (out.dtype == rows.dtype)
    require_cuda().rows.gather(rows.device, args, stream);
  else
    require_cuda().rows.gather_decoded(rows.device, {args, table.encoding()}, stream);
}

}  // namespace ramet
