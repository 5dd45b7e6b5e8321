#include "device_rows.h"

#include "kernels/cuda_backend.h"
#include "stream_read.h"

namespace ramet {

std::unique_ptr<RowRead> DeviceRows::submit(const Array& ids, const ReadContext& context) const {
  const CudaBackend& cuda = require_cuda();
  const DType stored = table_.table().rows().dtype;
  const bool is_rounded = form().dtype == DType::kBFloat16 && stored != DType::kBFloat16;
  const Array rows = context.pool->allocate_array(form().dtype, form().shape_of(ids.rows()));
  const Array gathered =
      is_rounded ? context.pool->allocate_array(DType::kFloat32, rows.shape) : rows;
  CudaGatherOptions options{
      .decode = gathered.dtype != stored, .order = context.order, .max_sms = context.max_sms};
  Array counter, hits;
  if (table_.num_cached() > 0) {
    counter = context.pool->allocate_array(DType::kInt64, {1});
    hits = context.pinned->allocate_array(DType::kInt64, {1});
    options.hits = static_cast<uint64_t*>(counter.data);
    cuda.runtime.fill(table_.device(), counter.data, 0, counter.bytes(), context.stream);
  }
  auto read = std::make_unique<StreamRead>(rows, context.stream, GatheredRows{}, hits);
  table_.gather(ids, gathered, context.stream, options);
  if (is_rounded)
    cuda.rows.round(table_.device(),
                    {.values = static_cast<const float*>(gathered.data),
                     .count = gathered.bytes() / int64_t{sizeof(float)},
                     .out = static_cast<uint16_t*>(rows.data)},
                    context.stream);
  if (table_.num_cached() > 0)
    cuda.runtime.copy(table_.device(), hits.data, counter.data, hits.bytes(), context.stream);
  return read;
}

}  // namespace ramet
