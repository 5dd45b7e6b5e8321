#include "named_rows.h"

#include <limits>
#include <mutex>

#include "base/narrow.h"
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
  view_.count = std::ssize(sorted.rows);
  if (view_.count == 0) return;
  upload(sorted.rows, &view_.rows);
  upload(sorted.starts, &view_.starts);
  upload(sorted.positions, &view_.positions);
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
  upload(listed, &view_.lists);
  view_.num_lists = static_cast<int>(listed.size());
}

NamedRows::NamedRows(const SortedLists& lists, const RowForm& form, int device) : device_(device) {
  view_.count = lists.rows.rows();
  view_.rows = static_cast<const int64_t*>(lists.rows.data);
  view_.starts = static_cast<const uint32_t*>(lists.starts.data);
  view_.positions = static_cast<const uint32_t*>(lists.positions.data);
  std::vector<CudaListedRows> listed;
  int64_t first = 0;
  for (const Array& rows : lists.lists) {
    const bool fits_dtype =
        rows.dtype == form.dtype || (rows.dtype == DType::kFloat32 && is_narrow(form.dtype));
    if (!fits_dtype || rows.shape != form.shape_of(rows.rows()) || rows.device != device)
      throw_invalid("rows are ", rows.describe(), ", which do not fit ", name(form.dtype), " of ",
                    form.row_bytes(), " bytes a row");
    if (rows.rows() > 0) listed.push_back({first, rows.data, rows.dtype});
    first += rows.rows();
  }
  if (first > std::numeric_limits<int32_t>::max())
    throw_invalid(first, " rows at once, expected up to ", std::numeric_limits<int32_t>::max());
  for (const Array& of_rows : {lists.rows, lists.starts, lists.positions})
    if (of_rows.device != device) throw_invalid(of_rows.describe(), " are not on device ", device);
  if (lists.rows.dtype != DType::kInt64 || lists.starts.dtype != DType::kInt32 ||
      lists.starts.rows() != view_.count + 1 || lists.positions.dtype != DType::kInt32 ||
      lists.positions.rows() != first)
    throw_invalid("starts are ", lists.starts.describe(), " and positions ",
                  lists.positions.describe(), " for ", first, " rows of lists");
  upload(listed, &view_.lists);
  view_.num_lists = static_cast<int>(listed.size());
}

template <typename Values, typename T>
void NamedRows::upload(const Values& values, T** to) {
  const void* at = nullptr;
  upload(values.data(), std::ssize(values) * int64_t(sizeof(values[0])), &at);
  *to = static_cast<T*>(at);
}

void NamedRows::upload(const void* from, int64_t bytes, const void** to) {
  const std::shared_ptr<void> buffer =
      DevicePool::shared(device_)->on(nullptr)->allocate(bytes > 0 ? bytes : 1);
  copy_to(device_, buffer.get(), from, bytes);
  kept_.push_back(buffer);
  *to = buffer.get();
}

}  // namespace ramet
