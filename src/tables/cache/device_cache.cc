#include "device_cache.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/scale.h"
#include "device/device_memory.h"
#include "kernels/kernels.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// Rows are gathered here and copied from here, so that the host needs little memory beside.
constexpr int64_t kStagedBytes = int64_t{64} << 20;

std::vector<int64_t> wide(const Array& ids) {
  return with_ids(ids, [](auto span) { return std::vector<int64_t>(span.begin(), span.end()); });
}

void check_ids(const Array& ids) {
  const bool integers = ids.dtype == DType::kInt32 || ids.dtype == DType::kInt64;
  if (integers && ids.shape.size() == 1 && ids.device == kHost && ids.rows() <= INT32_MAX) return;
  throw_invalid("the ids of cached rows are ", ids.describe(),
                ", expected at most 2^31 - 1 of int32 or int64 on the host");
}

std::shared_ptr<const void> checked_rows(const Table& table,
                                         std::span<const int64_t> ids,
                                         const Array& rows,
                                         int device) {
  Array expected = table.rows();
  expected.shape[0] = std::ssize(ids);
  if (rows.dtype != expected.dtype || rows.shape != expected.shape || rows.device != device ||
      table.has_scale())
    throw_invalid("the cached rows of ", table.name(), " are ", rows.describe(), ", expected ",
                  expected.describe(), " on device ", device, ", without a scale");
  for (const int64_t id : ids)
    require_index(id, table.rows().rows(), "the id of a cached row");
  return {rows.owner, rows.data};
}

std::shared_ptr<const void> copy_rows(const Table& table,
                                      std::span<const int64_t> ids,
                                      int device) {
  const int64_t row_bytes = table.rows().row_bytes();
  const auto step = static_cast<size_t>(std::max<int64_t>(1, kStagedBytes / (row_bytes + 1)));
  const std::shared_ptr<void> rows =
      allocate_on(device, static_cast<int64_t>(ids.size()) * row_bytes);
  auto* to = static_cast<char*>(rows.get());
  for (size_t begin = 0; begin < ids.size(); begin += step) {
    const auto chunk = ids.subspan(begin, std::min(step, ids.size() - begin));
    const Array staged = table.gather(chunk, hardware_threads());
    copy_to(device, to, staged.data, staged.bytes());
    to += staged.bytes();
  }
  return rows;
}

}  // namespace

DeviceCache make_device_cache(const Table& table,
                              const Array& ids_array,
                              const Array& rows,
                              int device) {
  check_ids(ids_array);
  const std::vector<int64_t> ids = wide(ids_array);
  DeviceCache cache;
  cache.num_rows = static_cast<int64_t>(ids.size());
  cache.rows = rows.shape.empty() ? copy_rows(table, ids, device)  // which checks the ids
                                  : checked_rows(table, ids, rows, device);
  std::vector<int32_t> slots(static_cast<size_t>(table.rows().rows()), -1);
  for (size_t i = 0; i < ids.size(); ++i)
    slots[static_cast<size_t>(ids[i])] = static_cast<int32_t>(i);
  const auto slot_bytes = static_cast<int64_t>(slots.size() * sizeof(int32_t));
  cache.slot = copy_on(device, slots.data(), slot_bytes);
  cache.bytes = slot_bytes + (rows.shape.empty() ? cache.num_rows * table.rows().row_bytes() : 0);
  if (table.has_scale() && table.encoding() == Encoding::kInt8ScaledByRow) {
    cache.scale = copy_rows(Table(table.scale(), "scale"), ids, device);
    cache.bytes += cache.num_rows * table.scale().row_bytes();
  }
  cache.view = {.slot = static_cast<const int32_t*>(cache.slot.get()),
                .rows = cache.rows.get(),
                .scale = static_cast<const float*>(cache.scale.get())};
  return cache;
}

}  // namespace ramet
