#include "recency_cache.h"

namespace ramet {
namespace {

constexpr int64_t kList = 0;
constexpr size_t kSlotsAhead = 32;

}  // namespace

RecencyCache::RecencyCache(int64_t capacity, int64_t num_rows)
    : CachePolicy(capacity, num_rows, 0),
      slot_of_row_(static_cast<size_t>(num_rows), -1),
      used_in_(static_cast<size_t>(this->capacity())),
      by_use_(this->capacity(), 1) {
  row_of_slot_.reserve(used_in_.size());
}

int64_t RecencyCache::memory_bytes() const {
  return static_cast<int64_t>(slot_of_row_.size() * sizeof(int32_t) +
                              used_in_.size() * 2 * sizeof(int64_t)) +
         by_use_.memory_bytes();
}

void RecencyCache::take(const Array& ids, CacheUse& use) {
  ++batch_;
  with_ids(ids, [&](auto values) {
    find_missing(values, use, [&](size_t i) {
      if (i + kSlotsAhead < values.size()) __builtin_prefetch(&slot_of(values[i + kSlotsAhead]));
      const int32_t slot = slot_of(values[i]);
      if (slot < 0) return slot;
      by_use_.remove(slot);
      use_slot(slot);
      return slot;
    });
  });
  for (const int64_t id : use.missing) {
    const bool is_repeat = slot_of(id) >= 0;
    const int32_t slot = is_repeat ? -1 : slot_for_new_row();
    use.targets.push_back(slot);
    if (slot < 0) continue;
    slot_of(id) = slot;
    row_of_slot_[static_cast<size_t>(slot)] = id;
    use_slot(slot);
  }
}

void RecencyCache::use_slot(int32_t slot) {
  used_in_[static_cast<size_t>(slot)] = batch_;
  by_use_.add_first(kList, slot);
}

// -1 where all slots hold rows of this batch.
int32_t RecencyCache::slot_for_new_row() {
  if (std::ssize(row_of_slot_) < capacity()) {
    row_of_slot_.push_back(-1);
    return static_cast<int32_t>(row_of_slot_.size()) - 1;
  }
  const int32_t oldest = by_use_.last(kList);
  if (oldest < 0 || used_in_[static_cast<size_t>(oldest)] == batch_) return -1;
  by_use_.remove(oldest);
  slot_of(row_of_slot_[static_cast<size_t>(oldest)]) = -1;
  return oldest;
}

}  // namespace ramet
