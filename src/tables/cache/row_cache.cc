#include "row_cache.h"

#include <algorithm>
#include <cstring>

namespace ramet {
namespace {

constexpr int64_t kAhead = 16;

}  // namespace

RowCache::RowCache(int64_t capacity, int64_t num_rows, int64_t row_bytes)
    : capacity_(std::min(capacity, num_rows)),
      row_bytes_(row_bytes),
      slot_of_row_(static_cast<size_t>(num_rows), -1) {
  const auto slots = static_cast<size_t>(capacity_);
  rows_.resize(slots * static_cast<size_t>(row_bytes));
  previous_.assign(slots + 1, static_cast<int32_t>(capacity_));
  next_ = previous_;
  used_in_.resize(slots);
}

void RowCache::gather(std::span<const int64_t> ids, void* out, const Read& read) {
  ++batch_;
  missing_.clear();
  missing_at_.clear();
  const auto place = [&](int64_t i) { return static_cast<char*>(out) + i * row_bytes_; };
  const auto bytes = static_cast<size_t>(row_bytes_);
  const auto count = static_cast<int64_t>(ids.size());
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const int32_t ahead = slot_of_row_[static_cast<size_t>(ids[static_cast<size_t>(i + kAhead)])];
      if (ahead >= 0) __builtin_prefetch(row(ahead));
    }
    const int64_t id = ids[static_cast<size_t>(i)];
    const int32_t slot = slot_of_row_[static_cast<size_t>(id)];
    if (slot < 0) {
      missing_.push_back(id);
      missing_at_.push_back(i);
      continue;
    }
    std::memcpy(place(i), row(slot), bytes);
    used_in_[static_cast<size_t>(slot)] = batch_;
    unlink(slot);
    link_first(slot);
  }
  hits_ += count - static_cast<int64_t>(missing_.size());
  misses_ += static_cast<int64_t>(missing_.size());
  read_.resize(missing_.size() * bytes);
  read(missing_, read_.data());
  for (size_t m = 0; m < missing_.size(); ++m) {
    std::memcpy(place(missing_at_[m]), read_.data() + m * bytes, bytes);
    int32_t& slot = slot_of_row_[static_cast<size_t>(missing_[m])];
    if (slot >= 0) continue;  // the row stands in the batch twice
    slot = free_slot();
    if (slot < 0) continue;
    row_of_slot_[static_cast<size_t>(slot)] = missing_[m];
    used_in_[static_cast<size_t>(slot)] = batch_;
    std::memcpy(row(slot), read_.data() + m * bytes, bytes);
    link_first(slot);
  }
}

int32_t RowCache::free_slot() {
  if (static_cast<int64_t>(row_of_slot_.size()) < capacity_) {
    row_of_slot_.push_back(-1);
    return static_cast<int32_t>(row_of_slot_.size()) - 1;
  }
  const int32_t oldest = previous_.back();
  if (oldest == capacity_ || used_in_[static_cast<size_t>(oldest)] == batch_) return -1;
  unlink(oldest);
  slot_of_row_[static_cast<size_t>(row_of_slot_[static_cast<size_t>(oldest)])] = -1;
  return oldest;
}

void RowCache::unlink(int32_t slot) {
  const int32_t before = previous_[static_cast<size_t>(slot)];
  const int32_t after = next_[static_cast<size_t>(slot)];
  next_[static_cast<size_t>(before)] = after;
  previous_[static_cast<size_t>(after)] = before;
}

void RowCache::link_first(int32_t slot) {
  const auto ends = static_cast<int32_t>(capacity_);
  const int32_t first = next_.back();
  next_.back() = slot;
  previous_[static_cast<size_t>(slot)] = ends;
  next_[static_cast<size_t>(slot)] = first;
  previous_[static_cast<size_t>(first)] = slot;
}

}  // namespace ramet
