#include "record_slots.h"

#include <algorithm>
#include <utility>

namespace ramet {
namespace {

constexpr int64_t kSlotBytes = sizeof(int32_t), kRowBytes = sizeof(int64_t);
constexpr int64_t kByUse = 0;

}  // namespace

RecordSlots::RecordSlots(NodeRows numbers)
    : numbers_(std::move(numbers)),
      slots_(numbers_.num_rows() * kSlotBytes, "the slots of records"),
      rows_(numbers_.num_rows() * kRowBytes, "the rows of slots") {
  slots_.grow(numbers_.num_rows() * kSlotBytes);
}

int64_t RecordSlots::memory_bytes() const {
  const size_t entries = entries_.capacity() * sizeof(Entry) + free_.capacity() * sizeof(int32_t);
  return slots_.taken_bytes() + rows_.taken_bytes() + by_use_.memory_bytes() +
         static_cast<int64_t>(entries);
}

void RecordSlots::hold(int32_t slot) {
  if (entry(slot).holds++ > 0) return;
  by_use_.remove(slot);
  --unheld_;
}

void RecordSlots::release(int32_t slot) {
  if (--entry(slot).holds > 0) return;
  by_use_.add_first(kByUse, slot);
  ++unheld_;
}

int32_t RecordSlots::take_oldest() {
  const int32_t slot = by_use_.last(kByUse);
  by_use_.remove(slot);
  --unheld_;
  position(row(slot)) = 0;
  return slot;
}

void RecordSlots::put_back(int32_t slot) {
  by_use_.add_last(kByUse, slot);
  ++unheld_;
  position(row(slot)) = slot + 1;
}

int32_t RecordSlots::take(int64_t row) {
  int32_t slot = static_cast<int32_t>(size());
  if (free_.empty()) {
    rows_.grow((int64_t{slot} + 1) * kRowBytes);
    if (free_.capacity() <= entries_.size()) free_.reserve(2 * entries_.size() + 1);  // for free()
    by_use_.add_slot();
    entries_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  entry(slot) = {};
  rows_.as<int64_t>()[slot] = row;
  return slot;
}

void RecordSlots::publish(int32_t slot) {
  entry(slot).holds = 1;
  position(row(slot)) = slot + 1;
}

void RecordSlots::free(int32_t slot) {
  free_.push_back(slot);
}

}  // namespace ramet
