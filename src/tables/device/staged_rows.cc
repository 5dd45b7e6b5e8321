#include "staged_rows.h"

#include "kernels/cuda_backend.h"
#include "stream_read.h"

namespace ramet {

std::unique_ptr<RowRead> StagedRows::submit(const Array& ids, const ReadContext& context) const {
  ReadContext on_host = context;
  on_host.pool = context.pinned;
  GatheredRows staged = host_->submit(ids, on_host)->complete();
  const Array rows = context.pool->allocate_array(staged.rows.dtype, staged.rows.shape);
  auto read = std::make_unique<StreamRead>(rows, context.stream, staged);
  if (rows.bytes() > 0)
    require_cuda().runtime.copy(rows.device, rows.data, staged.rows.data, rows.bytes(),
                                context.stream);
  return read;
}

}  // namespace ramet
