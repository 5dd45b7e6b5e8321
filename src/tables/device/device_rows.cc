#include "device_rows.h"

#include "kernels/cuda_backend.h"
#include "stream_read.h"

namespace ramet {

std::unique_ptr<RowRead> DeviceRows::submit(const Array& ids, const ReadContext& context) const {
  const CudaRuntime& cuda = require_cuda().runtime;
  const int device = table_.device();
  const Array rows = context.pool->allocate_array(form().dtype, form().shape_of(ids.rows()));
  CudaGatherOptions options{.decode = form().dtype != table_.table().rows().dtype,
                            .order = context.order,
                            .max_sms = context.max_sms};
  if (table_.num_cached() == 0) {
    table_.gather(ids, rows, context.stream, options);
    return std::make_unique<StreamRead>(rows, context.stream);
  }
  const Array counter = context.pool->allocate_array(DType::kInt64, {1});
  const Array hits = context.pinned->allocate_array(DType::kInt64, {1});
  options.hits = static_cast<uint64_t*>(counter.data);
  cuda.fill(device, counter.data, 0, counter.bytes(), context.stream);
  auto read = std::make_unique<StreamRead>(rows, context.stream, GatheredRows{}, hits);
  table_.gather(ids, rows, context.stream, options);
  cuda.copy(device, hits.data, counter.data, hits.bytes(), context.stream);
  return read;
}

}  // namespace ramet
