#include "ramet/device_table.h"

#include "device_places.h"
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

DeviceTable::DeviceTable(Table rows_by_place, const std::optional<RowPlaces>& places)
    : rows_(rows_by_place, options_of(rows_by_place)), num_rows_(rows_by_place.rows().rows()) {
  if (!places || places->is_dense()) return;
  num_rows_ = places->num_rows();
  places_ = std::make_shared<const DevicePlaces>(*places, rows_.device());
}

void DeviceTable::gather(const Array& ids,
                         const Array& out,
                         CudaStreamHandle stream,
                         const CudaGatherOptions& options) const {
  CudaGatherOptions checked = options;
  checked.check = places_ == nullptr;
  if (places_ == nullptr) return rows_.gather(ids, out, stream, checked);
  const CudaRuntime& runtime = require_cuda().runtime;
  const auto pool = DevicePool::shared(rows_.device())->on(stream);
  const Array word = pool->allocate_array(DType::kInt64, {1});
  runtime.fill(word.device, word.data, 0xFF, word.bytes(), stream);
  const Array places = places_->look_up(ids, *pool, stream, static_cast<uint64_t*>(word.data));
  uint64_t bad = kNoBadId;
  runtime.copy(word.device, &bad, word.data, word.bytes(), stream);
  runtime.synchronize(word.device, stream);
  if (bad != kNoBadId)
    throw_error(ErrorCode::kOutOfRange, "ids[", bad, "] = ", read_id(ids, bad, stream),
                " is outside the ", num_rows_, " rows of ", rows_.table().name());
  rows_.gather(places, out, stream, checked);
}

}  // namespace ramet
