#include "preloaded_rows.h"

#include <cstring>

#include "base/parallel.h"

namespace ramet {
namespace {

constexpr size_t kKeptAhead = 16;

}  // namespace

class PreloadedRows::Read final : public RowRead {
 public:
  Read(const PreloadedRows& owner, const Array& ids, const ReadContext& context)
      : owner_(owner), ids_(ids), pool_(context.pool) {
    const auto values = ids_.as<int64_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (owner_.kept(values[i]) != nullptr) continue;
      missing_.push_back(values[i]);
      positions_.push_back(i);
    }
    read_ = owner_.source_->submit(borrow(std::span<const int64_t>(missing_)), context);
  }

  GatheredRows complete() override {
    GatheredRows read = read_->complete();
    Array rows = pool_->allocate_array(owner_.form().dtype, owner_.form().shape_of(ids_.rows()));
    const auto bytes = static_cast<size_t>(rows.row_bytes());
    char* const out = static_cast<char*>(rows.data);
    const auto values = ids_.as<int64_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (i + kKeptAhead < values.size()) __builtin_prefetch(owner_.kept(values[i + kKeptAhead]));
      if (const char* from = owner_.kept(values[i])) std::memcpy(out + i * bytes, from, bytes);
    }
    for (size_t m = 0; m < positions_.size(); ++m)
      std::memcpy(out + positions_[m] * bytes, static_cast<const char*>(read.rows.data) + m * bytes,
                  bytes);
    const int64_t misses = std::ssize(missing_);
    read.cache = {.hits = rows.rows() - misses, .misses = misses};
    read.rows = std::move(rows);
    return read;
  }

 private:
  const PreloadedRows& owner_;
  const Array ids_;
  const std::shared_ptr<BufferPool> pool_;
  std::vector<int64_t> missing_;
  std::vector<size_t> positions_;
  std::unique_ptr<RowRead> read_;  // last: it reads missing_
};

PreloadedRows::PreloadedRows(std::shared_ptr<const RowSource> source,
                             int64_t num_rows,
                             std::span<const int64_t> ids)
    : RowSource(source->form()),
      source_(std::move(source)),
      slot_of_row_(static_cast<size_t>(num_rows), -1) {
  const ReadContext context{.pool = BufferPool::create(), .threads = hardware_threads()};
  rows_ = source_->submit(borrow(ids), context)->complete().rows;  // checks the ids
  for (size_t i = 0; i < ids.size(); ++i)
    slot_of_row_[static_cast<size_t>(ids[i])] = static_cast<int32_t>(i);
}

const char* PreloadedRows::kept(int64_t id) const {
  if (static_cast<uint64_t>(id) >= slot_of_row_.size()) return nullptr;
  const int32_t slot = slot_of_row_[static_cast<size_t>(id)];
  return slot < 0 ? nullptr : static_cast<const char*>(rows_.data) + slot * rows_.row_bytes();
}

std::unique_ptr<RowRead> PreloadedRows::submit(const Array& ids, const ReadContext& context) const {
  return std::make_unique<Read>(*this, ids, context);
}

}  // namespace ramet
