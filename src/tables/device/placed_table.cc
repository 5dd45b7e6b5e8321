#include "placed_table.h"

#include "base/system/space.h"
#include "device/device_memory.h"
#include "device_copies.h"
#include "ramet/error.h"

namespace ramet {

PlacedTable::PlacedTable(Table its_table, const CudaTableOptions& options)
    : table(std::move(its_table)),
      device(options.device),
      placement(options.placement),
      counters_(allocate_on(device, sizeof(Counters))) {
  const bool caches = !options.cached.shape.empty();
  const Counters zero;
  copy_to(device, counters_.get(), &zero, sizeof(zero));
  if (table.rows().device != kHost) {
    read_there(caches);
    return;
  }
  switch (placement) {
    case Location::kInPlace:
      lock(options);
      break;
    case Location::kPinnedCopy:
      copy_to_host();
      break;
    case Location::kDevice:
      if (caches)
        throw_invalid(table.name(),
                      " is to lie in device memory, where a cache in front of it is no use");
      copy_to_device();
      break;
    default:
      throw_invalid("placement is '", name(placement),
                    "', expected 'in_place', 'device' or 'pinned_copy'");
  }
  if (caches) cache = make_device_cache(table, options.cached, options.cached_rows, device);
  cache.view.hits = &counters()->hits;
  device_bytes += cache.bytes;
}

PlacedTable::~PlacedTable() {
  if (getpid() != process_) return;
  try {
    require_cuda().runtime.synchronize_all(device);
  } catch (const Error&) {
    // A kernel's own failure; its work is over.
  }
}

// What lies on a device is read in place, by that device alone.
void PlacedTable::read_there(bool caches) {
  if (table.rows().device != device)
    throw_invalid(table.name(), " lies on device ", table.rows().device, ", not on device ",
                  device);
  if (caches || (placement != Location::kInPlace && placement != Location::kAuto))
    throw_invalid(table.name(), " lies on device ", device, ", where its placement is 'in_place'",
                  caches ? " and a cache is no use" : "");
  placement = Location::kInPlace;
  rows = table.rows().data;
  cache.view.hits = &counters()->hits;
}

bool PlacedTable::scales_rows() const {
  return table.has_scale() && table.encoding() == Encoding::kInt8ScaledByRow;
}

void PlacedTable::lock(const CudaTableOptions& options) {
  try {
    require_memory_to_hold(table.rows(), "page-locking " + table.name());
    lock_in_place(options.progress);
  } catch (const Error& reason) {
    if (!options.copy_where_refused || !is_refusal(reason)) throw;
    refusal = reason.what();
    placement = Location::kPinnedCopy;
    locked_rows_ = {};  // where the scale, or an address, was refused
    locked_scale_ = {};
    copy_to_host();
  }
}

void PlacedTable::lock_in_place(const Progress& progress) {
  locked_rows_ = HostRegistration(table.rows(), {.progress = progress});
  if (scales_rows()) locked_scale_ = HostRegistration(table.scale());
  rows = locked_rows_.address(device);
  on_host = true;
  if (!scales_rows()) return copy_scale();
  scale = static_cast<const float*>(locked_scale_.address(device));
}

void PlacedTable::copy_to_host() {
  const CudaRuntime& runtime = require_cuda().runtime;
  const Array copied_rows = pinned_copy(table.rows());
  copy_ = copied_rows.owner;
  rows = runtime.device_address(device, copied_rows.data);
  on_host = true;
  if (!scales_rows()) return copy_scale();
  const Array copied_scale = pinned_copy(table.scale());
  copied_scale_ = copied_scale.owner;
  scale = static_cast<const float*>(runtime.device_address(device, copied_scale.data));
}

void PlacedTable::copy_to_device() {
  copy_ = device_copy(table.rows(), device);
  rows = const_cast<void*>(copy_.get());
  device_bytes += table.rows().bytes();
  copy_scale();
}

void PlacedTable::copy_scale() {
  if (!table.has_scale()) return;
  copied_scale_ = device_copy(table.scale(), device);
  scale = static_cast<const float*>(copied_scale_.get());
  device_bytes += table.scale().bytes();
}

}  // namespace ramet
