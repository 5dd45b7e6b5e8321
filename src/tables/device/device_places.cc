#include "device_places.h"

#include "device/device_memory.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::shared_ptr<void> copy_of(const std::vector<int64_t>& values, int device) {
  return copy_on(device, values.data(), std::ssize(values) * int64_t{sizeof(int64_t)});
}

}  // namespace

DevicePlaces::DevicePlaces(const RowPlaces& places, int device)
    : device_(device), num_rows_(places.num_rows()) {
  const RowPlaces::Ranges ranges = places.ranges();
  size_ = static_cast<int>(ranges.deltas.size());
  if (places.owners().is_ranges()) {
    begins_ = copy_of(ranges.begins, device);
    deltas_ = copy_of(ranges.deltas, device);
  } else {
    wide_map_ = places.map().dtype == DType::kInt64;
    map_ = copy_on(device, places.map().data, places.map().bytes());
  }
}

Array DevicePlaces::look_up(const Array& ids,
                            BufferPool& pool,
                            CudaStreamHandle stream,
                            uint64_t* bad) const {
  if (ids.device != device_)
    throw_invalid("ids lie on device ", ids.device, ", but the places on ", device_);
  const Array places = pool.allocate_array(DType::kInt64, {ids.rows()});
  require_cuda().named_rows.find_places(device_,
                                        {.ids = ids.data,
                                         .wide_ids = ids.dtype == DType::kInt64,
                                         .num_ids = ids.rows(),
                                         .num_rows = num_rows_,
                                         .begins = static_cast<const int64_t*>(begins_.get()),
                                         .deltas = static_cast<const int64_t*>(deltas_.get()),
                                         .size = size_,
                                         .map = map_.get(),
                                         .wide_map = wide_map_,
                                         .places = static_cast<int64_t*>(places.data),
                                         .bad = bad},
                                        stream);
  return places;
}

}  // namespace ramet
