#include "named_rows.h"

#include <mutex>

#include "base/row_groups.h"
#include "device/device_memory.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"

namespace ramet {
namespace {

struct Sorted {
  std::vector<int64_t> rows;
  std::vector<uint32_t> starts, positions;
};

// Which thread comes first decides the order of rows, on which nothing depends.
Sorted sort(std::span<const RowList> lists, int64_t num_rows, NodeRange own, int threads) {
  RowGroups groups(lists, num_rows, own.begin, own.end);
  Sorted sorted;
  std::mutex mutex;
  groups.visit(threads, [&](const RowBucket& bucket) {
    const std::lock_guard lock(mutex);
    for (size_t i = 0; i < bucket.entries.size(); ++i) {
      if (i == 0 || bucket.row(i) != bucket.row(i - 1)) {
        sorted.rows.push_back(bucket.row(i));
        sorted.starts.push_back(static_cast<uint32_t>(sorted.positions.size()));
      }
      sorted.positions.push_back(static_cast<uint32_t>(bucket.position(i)));
    }
  });
  sorted.starts.push_back(static_cast<uint32_t>(sorted.positions.size()));
  return sorted;
}

}  // namespace

NamedRows::NamedRows(
    std::span<const RowList> lists, int64_t num_rows, NodeRange own, int device, int threads)
    : device_(device) {
  const Sorted sorted = sort(lists, num_rows, own, threads);
  const auto upload_all = [this](const auto& values, auto** to) {
    const void* at = nullptr;
    upload(values.data(), std::ssize(values) * int64_t(sizeof(values[0])), &at);
    *to = static_cast<std::remove_reference_t<decltype(*to)>>(at);
  };
  view_.count = std::ssize(sorted.rows);
  if (view_.count == 0) return;
  upload_all(sorted.rows, &view_.rows);
  upload_all(sorted.starts, &view_.starts);
  upload_all(sorted.positions, &view_.positions);
  std::vector<CudaListedRows> listed;
  int64_t first = 0;
  for (const auto& [ids, rows] : lists) {
    if (rows.device != kHost && rows.device != device)
      throw_invalid("rows lie on device ", rows.device, ", but the table on ", device);
    const void* data = rows.data;
    if (rows.device == kHost && rows.bytes() > 0) upload(rows.data, rows.bytes(), &data);
    if (!ids.empty()) listed.push_back({first, data, rows.dtype});
    first += std::ssize(ids);
  }
  upload_all(listed, &view_.lists);
  view_.num_lists = static_cast<int>(listed.size());
}

void NamedRows::upload(const void* from, int64_t bytes, const void** to) {
  const std::shared_ptr<void> buffer =
      DevicePool::shared(device_)->on(nullptr)->allocate(bytes > 0 ? bytes : 1);
  copy_to(device_, buffer.get(), from, bytes);
  kept_.push_back(buffer);
  *to = buffer.get();
}

}  // namespace ramet
