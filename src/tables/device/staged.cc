#include "staged.h"

#include <algorithm>

#include "kernels/cuda_backend.h"
#include "named_rows.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "ramet/table_rows.h"

namespace ramet {
namespace {

// Rows are gathered here and copied from here, so that the device needs little memory beside.
constexpr int64_t kStagedBytes = int64_t{64} << 20;

void check_ids(std::span<const int64_t> ids, int64_t first, const Table& table) {
  const int64_t rows = table.rows().rows();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (static_cast<uint64_t>(ids[i]) < static_cast<uint64_t>(rows)) continue;
    throw_error(ErrorCode::kOutOfRange, "ids[", first + static_cast<int64_t>(i), "] = ", ids[i],
                " is outside the ", rows, " rows of ", table.name());
  }
}

CudaWriteArgs args_of(const Array& table, const NamedRows& named) {
  return {.table = table.data,
          .dtype = table.dtype,
          .width = table.row_bytes() / item_size(table.dtype),
          .named = named.view()};
}

RowForm form_of(const Array& table) {
  if (table.device == kHost) throw_invalid("the table lies on the host, expected a device");
  if (!table.writable) throw_invalid("the table is read-only");
  return Table(table).form(false);
}

}  // namespace

void gather_staged(
    const Table& table, int64_t count, const RowsOfIds& rows_of, void* out, bool decode) {
  const CudaBackend& cuda = require_cuda();
  const Array& rows = table.rows();
  const RowForm form = table.form(decode);
  const int64_t row_bytes = form.row_bytes();
  const int64_t step = std::max<int64_t>(kStagedBytes / (row_bytes + 8), 1);
  const auto pool = DevicePool::shared(rows.device)->on(nullptr);
  std::vector<int64_t> buffer;
  for (int64_t begin = 0; begin < count; begin += step) {
    const int64_t some = std::min(step, count - begin);
    const int64_t* ids = rows_of(begin, begin + some, buffer);
    check_ids({ids, static_cast<size_t>(some)}, begin, table);
    if (row_bytes == 0) continue;
    const Array on_device = pool->allocate_array(DType::kInt64, {some});
    const Array gathered = pool->allocate_array(form.dtype, form.shape_of(some));
    cuda.runtime.copy(rows.device, on_device.data, ids, on_device.bytes(), nullptr);
    const CudaGatherArgs args{.table = rows.data,
                              .num_rows = rows.rows(),
                              .row_bytes = rows.row_bytes(),
                              .ids = on_device.data,
                              .wide_ids = true,
                              .num_ids = some,
                              .out = gathered.data};
    if (form.dtype == rows.dtype)
      cuda.rows.gather(rows.device, args, nullptr);
    else
      cuda.rows.gather_decoded(rows.device, {args, table.encoding()}, nullptr);
    cuda.runtime.copy(rows.device, static_cast<char*>(out) + begin * row_bytes, gathered.data,
                      gathered.bytes(), nullptr);
    cuda.runtime.synchronize(rows.device, nullptr);
  }
}

void set_staged(const Array& table, std::span<const RowList> lists, NodeRange own, int threads) {
  const NamedRows named(lists, table.rows(), own, table.device, threads);
  require_cuda().named_rows.set(table.device, args_of(table, named), nullptr);
  require_cuda().runtime.synchronize(table.device, nullptr);
}

void sum_staged(const Array& table, std::span<const RowList> lists, NodeRange own, int threads) {
  const NamedRows named(lists, table.rows(), own, table.device, threads);
  require_cuda().named_rows.sum(table.device, args_of(table, named), nullptr);
  require_cuda().runtime.synchronize(table.device, nullptr);
}

void set_sorted_rows(const Array& table, const SortedLists& lists) {
  const NamedRows named(lists, form_of(table), table.device);
  require_cuda().named_rows.set(table.device, args_of(table, named), nullptr);
  require_cuda().runtime.synchronize(table.device, nullptr);
}

void sum_sorted_rows(const Array& table, const SortedLists& lists) {
  if (table.dtype == DType::kBool) throw_invalid("rows of bool cannot be added");
  const NamedRows named(lists, form_of(table), table.device);
  require_cuda().named_rows.sum(table.device, args_of(table, named), nullptr);
  require_cuda().runtime.synchronize(table.device, nullptr);
}

void copy_staged(const Array& to, const void* from) {
  const CudaRuntime& runtime = require_cuda().runtime;
  runtime.copy(to.device, to.data, from, to.bytes(), nullptr);
  runtime.synchronize(to.device, nullptr);
}

}  // namespace ramet
