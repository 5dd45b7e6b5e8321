#include "host_rows.h"

namespace ramet {

class HostRows::Read final : public RowRead {
 public:
  Read(const HostRows& owner, const Array& ids, const ReadContext& context)
      : owner_(owner), ids_(ids), pool_(context.pool), threads_(context.threads) {}

  GatheredRows complete() override {
    const Table& table = owner_.table_;
    const DType dtype = owner_.form().dtype;
    const auto ids = ids_.as<int64_t>();
    Array rows = pool_->allocate_array(dtype, owner_.form().shape_of(ids_.rows()));
    if (dtype == table.rows().dtype)
      table.gather(ids, rows.data, threads_);
    else if (dtype == DType::kBFloat16)
      table.gather_bfloat16(ids, static_cast<uint16_t*>(rows.data), threads_);
    else
      table.gather_float32(ids, static_cast<float*>(rows.data), threads_);
    return {.rows = std::move(rows), .cache = {}};
  }

 private:
  const HostRows& owner_;
  const Array ids_;
  const std::shared_ptr<BufferPool> pool_;
  const int threads_;
};

std::unique_ptr<RowRead> HostRows::submit(const Array& ids, const ReadContext& context) const {
  return std::make_unique<Read>(*this, ids, context);
}

}  // namespace ramet
