#include "device_positions.h"

#include "device/device_memory.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::shared_ptr<void> copy_of(const std::vector<int64_t>& values, int device) {
  return copy_on(device, values.data(), std::ssize(values) * int64_t{sizeof(int64_t)});
}

}  // namespace

DevicePositions::DevicePositions(const RowPositions& positions, int device)
    : device_(device), num_rows_(positions.num_rows()) {
  const RowPositions::Ranges ranges = positions.ranges();
  size_ = static_cast<int>(ranges.deltas.size());
  if (positions.owners().is_ranges()) {
    begins_ = copy_of(ranges.begins, device);
    deltas_ = copy_of(ranges.deltas, device);
  } else {
    wide_map_ = positions.map().dtype == DType::kInt64;
    map_ = copy_on(device, positions.map().data, positions.map().bytes());
  }
}

void DevicePositions::look_up(const Array& ids,
                              const Array& positions,
                              CudaStreamHandle stream,
                              uint64_t* bad) const {
  if (ids.device != device_)
    throw_invalid("ids lie on device ", ids.device, ", but the positions on ", device_);
  require_cuda().named_rows.find_positions(device_,
                                           {.ids = ids.data,
                                            .wide_ids = ids.dtype == DType::kInt64,
                                            .num_ids = ids.rows(),
                                            .num_rows = num_rows_,
                                            .begins = static_cast<const int64_t*>(begins_.get()),
                                            .deltas = static_cast<const int64_t*>(deltas_.get()),
                                            .size = size_,
                                            .map = map_.get(),
                                            .wide_map = wide_map_,
                                            .positions = static_cast<int64_t*>(positions.data),
                                            .bad = bad},
                                           stream);
}

}  // namespace ramet
