#include "cached_rows.h"

namespace ramet {

class CachedRows::Read final : public RowRead {
 public:
  Read(const CachedRows& owner, Array rows, MissingRows missing, const ReadContext& context)
      : owner_(owner),
        rows_(std::move(rows)),
        missing_(std::move(missing)),
        read_(owner.source_->submit(borrow(std::span<const int64_t>(missing_.ids)), context)) {}

  GatheredRows complete() override {
    GatheredRows read = read_->complete();
    const std::lock_guard lock(owner_.mutex_);
    owner_.cache_.insert(missing_, read.rows.data, rows_.data);
    const auto misses = static_cast<int64_t>(missing_.ids.size());
    read.cache = {.hits = rows_.rows() - misses, .misses = misses};
    read.rows = std::move(rows_);
    return read;
  }

 private:
  const CachedRows& owner_;
  Array rows_;
  MissingRows missing_;
  std::unique_ptr<RowRead> read_;
};

std::unique_ptr<RowRead> CachedRows::submit(const Array& ids, const ReadContext& context) const {
  Array rows = context.pool->allocate_array(form().dtype, form().shape_of(ids.rows()));
  MissingRows missing;
  {
    const std::lock_guard lock(mutex_);
    missing = cache_.read(ids.as<int64_t>(), rows.data);
  }
  return std::make_unique<Read>(*this, std::move(rows), std::move(missing), context);
}

}  // namespace ramet
