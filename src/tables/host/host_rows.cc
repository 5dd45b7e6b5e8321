#include "host_rows.h"

namespace ramet {
namespace {

// A read that was done when it was submitted.
class FinishedRead final : public RowRead {
 public:
  explicit FinishedRead(Array rows) : rows_(std::move(rows)) {}
  GatheredRows complete() override { return {std::move(rows_), {}}; }

 private:
  Array rows_;
};

}  // namespace

std::unique_ptr<RowRead> HostRows::submit(const Array& ids, const ReadContext& context) const {
  Array rows = context.pool->allocate_array(form().dtype, form().shape_of(ids.rows()));
  if (form().dtype == table_.rows().dtype)
    table_.gather(ids.as<int64_t>(), rows.data, context.threads);
  else if (form().dtype == DType::kBFloat16)
    table_.gather_bfloat16(ids.as<int64_t>(), static_cast<uint16_t*>(rows.data), context.threads);
  else
    table_.gather_float32(ids.as<int64_t>(), static_cast<float*>(rows.data), context.threads);
  return std::make_unique<FinishedRead>(std::move(rows));
}

}  // namespace ramet
