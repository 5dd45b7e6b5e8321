#include "disk_rows.h"

#include <chrono>
#include <numeric>

#include "base/scale.h"
#include "ramet/error.h"

namespace ramet {
namespace {

void check_rows(const Table& table, std::span<const int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= table.rows().rows())
      throw_error(ErrorCode::kOutOfRange, "ids[", i, "] = ", ids[i], " is outside the ",
                  table.rows().rows(), " rows of ", table.name());
}

bool has_scale_by_row(const Table& table) {
  return table.has_scale() && scaled_by(table.rows(), table.scale()) == ScaledBy::kRow;
}

}  // namespace

class DiskRows::Read final : public RowRead {
 public:
  Read(const DiskRows& owner, const Array& ids, const ReadContext& context)
      : owner_(owner),
        ids_(ids),
        pool_(context.pool),
        threads_(context.threads),
        stored_(pool_->allocate_array(owner.table_.rows().dtype,
                                      owner.table_.form(false).shape_of(ids.rows()))),
        pending_(owner.reader_->submit(ids.as<int64_t>(), stored_.data)) {}

  GatheredRows complete() override {
    const auto begin = std::chrono::steady_clock::now();
    const ReadCounts counts = pending_->complete();
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    const bool as_stored = owner_.form().dtype == stored_.dtype;
    return {.rows = as_stored ? std::move(stored_) : decoded(),
            .cache = {},
            .read = counts,
            .read_seconds = waited.count()};
  }

 private:
  // As HostRows decodes rows of the table: what was read is a table, all of whose rows are
  // gathered.
  [[nodiscard]] Array decoded() const {
    const Table& table = owner_.table_;
    const int64_t count = stored_.rows();
    Array scale = table.scale();
    if (has_scale_by_row(table)) scale = Table(scale).gather(ids_.as<int64_t>(), threads_);
    const Table rows(stored_, scale, table.name());
    const Array all = pool_->allocate_array(DType::kInt64, {count});
    const std::span<int64_t> ids(static_cast<int64_t*>(all.data), static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), int64_t{0});
    Array out = pool_->allocate_array(owner_.form().dtype, owner_.form().shape_of(count));
    if (out.dtype == DType::kBFloat16)
      rows.gather_bfloat16(ids, static_cast<uint16_t*>(out.data), threads_);
    else
      rows.gather_float32(ids, static_cast<float*>(out.data), threads_);
    return out;
  }

  const DiskRows& owner_;
  Array ids_;
  std::shared_ptr<BufferPool> pool_;
  int threads_;
  Array stored_;
  std::unique_ptr<PendingRows> pending_;  // last: it waits for what writes to stored_
};

std::unique_ptr<RowRead> DiskRows::submit(const Array& ids, const ReadContext& context) const {
  check_rows(table_, ids.as<int64_t>());
  return std::make_unique<Read>(*this, ids, context);
}

}  // namespace ramet
