#include "ordered_ids.h"

#include "kernels/cuda_backend.h"
#include "ramet/error.h"

namespace ramet {

namespace {

bool sorts(const PlacedTable& placed, RowOrder order, int64_t num_ids, CudaStreamHandle stream) {
  const int64_t bytes = placed.table.rows().bytes();
  if (order == RowOrder::kAsGiven || bytes == 0) return false;
  const bool is_auto = order == RowOrder::kAuto;
  if (is_auto && !(placed.on_host && pays_to_sort(bytes, num_ids))) return false;
  const bool is_captured = require_cuda().runtime.is_capturing(placed.device, stream);
  if (is_auto) return !is_captured;
  if (is_captured)
    throw_invalid("order is 'sorted' on a stream that is captured, where ids are read as given");
  if (num_ids > kMostSortedIds)
    throw_invalid("order is 'sorted' for ", num_ids, " ids, of which at most 2^31 - 1 are sorted");
  return true;
}

OrderedIds sort_ids(const PlacedTable& placed,
                    const void* ids,
                    DType dtype,
                    int64_t num_ids,
                    CudaStreamHandle stream) {
  const CudaBackend& cuda = require_cuda();
  const Array& rows = placed.table.rows();
  const auto pool = DevicePool::shared(placed.device)->on(stream);
  const int64_t num_counters = cuda_order_counters(rows.rows(), rows.row_bytes());
  const Array begins = pool->allocate_array(DType::kUInt32, {num_counters}),
              scan = pool->allocate_array(DType::kUInt8,
                                          {cuda.sampling.scan_bytes(placed.device, num_counters)});
  OrderedIds ordered{pool->allocate_array(dtype, {num_ids}),
                     pool->allocate_array(DType::kUInt32, {num_ids})};
  cuda.rows.order(placed.device,
                  {.ids = ids,
                   .wide_ids = dtype == DType::kInt64,
                   .num_ids = num_ids,
                   .num_rows = rows.rows(),
                   .row_bytes = rows.row_bytes(),
                   .ordered = ordered.ids.data,
                   .positions = static_cast<uint32_t*>(ordered.positions.data),
                   .begins = static_cast<uint32_t*>(begins.data),
                   .scan = {scan.data, scan.bytes()}},
                  stream);
  return ordered;
}

}  // namespace

std::optional<OrderedIds> order_ids(const PlacedTable& placed,
                                    RowOrder order,
                                    const void* ids,
                                    DType dtype,
                                    int64_t num_ids,
                                    CudaStreamHandle stream) {
  if (!sorts(placed, order, num_ids, stream)) return std::nullopt;
  try {
    return sort_ids(placed, ids, dtype, num_ids, stream);
  } catch (const Error& error) {
    if (order == RowOrder::kSorted || error.code() != ErrorCode::kNoSpace) throw;
    return std::nullopt;
  }
}

}  // namespace ramet
