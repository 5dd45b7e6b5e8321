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

MissingRows RowCache::read(std::span<const int64_t> ids, void* out) {
  MissingRows missing{.batch = ++batch_, .ids = {}, .places = {}};
  const auto count = static_cast<int64_t>(ids.size());
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const int32_t ahead = slot_of_row_[static_cast<size_t>(ids[static_cast<size_t>(i + kAhead)])];
      if (ahead >= 0) __builtin_prefetch(row(ahead));
    }
    const int64_t id = ids[static_cast<size_t>(i)];
    const int32_t slot = slot_of_row_[static_cast<size_t>(id)];
    if (slot < 0) {
      missing.ids.push_back(id);
      missing.places.push_back(i);
      continue;
    }
    std::memcpy(static_cast<char*>(out) + i * row_bytes_, row(slot),
                static_cast<size_t>(row_bytes_));
    used_in_[static_cast<size_t>(slot)] = batch_;
    unlink(slot);
    link_first(slot);
  }
  return missing;
}

void RowCache::insert(const MissingRows& missing, const void* rows, void* out) {
  const auto bytes = static_cast<size_t>(row_bytes_);
  for (size_t m = 0; m < missing.ids.size(); ++m) {
    const char* from = static_cast<const char*>(rows) + m * bytes;
    std::memcpy(static_cast<char*>(out) + missing.places[m] * row_bytes_, from, bytes);
    int32_t& slot = slot_of_row_[static_cast<size_t>(missing.ids[m])];
    if (slot >= 0) continue;  // the row stands in the batch twice, or another batch read it
    slot = free_slot(missing.batch);
    if (slot < 0) continue;
    row_of_slot_[static_cast<size_t>(slot)] = missing.ids[m];
    used_in_[static_cast<size_t>(slot)] = missing.batch;
    std::memcpy(row(slot), from, bytes);
    link_first(slot);
  }
}

int32_t RowCache::free_slot(int64_t batch) {
  if (static_cast<int64_t>(row_of_slot_.size()) < capacity_) {
    row_of_slot_.push_back(-1);
    return static_cast<int32_t>(row_of_slot_.size()) - 1;
  }
  const int32_t oldest = previous_.back();
  if (oldest == capacity_ || used_in_[static_cast<size_t>(oldest)] >= batch) return -1;
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
