#include "kept_rows.h"

#include <cstring>

#include "base/parallel.h"

namespace ramet {
namespace {

constexpr size_t kAhead = 16;

}  // namespace

class KeptRows::Read final : public RowRead {
 public:
  // `places`: in `rows`, of the rows `missing`.
  Read(const RowSource& source,
       Array rows,
       std::vector<int64_t> missing,
       std::vector<int64_t> places,
       const ReadContext& context)
      : rows_(std::move(rows)),
        missing_(std::move(missing)),
        places_(std::move(places)),
        read_(source.submit(borrow(std::span<const int64_t>(missing_)), context)) {}

  GatheredRows complete() override {
    GatheredRows read = read_->complete();
    const auto bytes = static_cast<size_t>(rows_.row_bytes());
    for (size_t m = 0; m < places_.size(); ++m)
      std::memcpy(static_cast<char*>(rows_.data) + static_cast<size_t>(places_[m]) * bytes,
                  static_cast<const char*>(read.rows.data) + m * bytes, bytes);
    const int64_t misses = std::ssize(missing_);
    read.cache = {.hits = rows_.rows() - misses, .misses = misses};
    read.rows = std::move(rows_);
    return read;
  }

 private:
  Array rows_;
  std::vector<int64_t> missing_, places_;
  std::unique_ptr<RowRead> read_;
};

KeptRows::KeptRows(std::shared_ptr<const RowSource> source,
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

const char* KeptRows::kept(int64_t id) const {
  if (static_cast<uint64_t>(id) >= slot_of_row_.size()) return nullptr;
  const int32_t slot = slot_of_row_[static_cast<size_t>(id)];
  return slot < 0 ? nullptr : static_cast<const char*>(rows_.data) + slot * rows_.row_bytes();
}

std::unique_ptr<RowRead> KeptRows::submit(const Array& ids_array,
                                          const ReadContext& context) const {
  Array rows = context.pool->allocate_array(form().dtype, form().shape_of(ids_array.rows()));
  const auto bytes = static_cast<size_t>(rows.row_bytes());
  std::vector<int64_t> missing, places;
  const auto ids = ids_array.as<int64_t>();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i + kAhead < ids.size()) __builtin_prefetch(kept(ids[i + kAhead]));
    if (const char* from = kept(ids[i])) {
      std::memcpy(static_cast<char*>(rows.data) + i * bytes, from, bytes);
      continue;
    }
    missing.push_back(ids[i]);
    places.push_back(static_cast<int64_t>(i));
  }
  return std::make_unique<Read>(*source_, std::move(rows), std::move(missing), std::move(places),
                                context);
}

}  // namespace ramet
