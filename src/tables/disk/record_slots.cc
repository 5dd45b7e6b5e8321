#include "record_slots.h"

#include <algorithm>
#include <utility>

namespace ramet {
namespace {

constexpr int64_t kSlotBytes = sizeof(int32_t), kRowBytes = sizeof(int64_t);

}  // namespace

RecordSlots::RecordSlots(NodeRows numbers)
    : numbers_(std::move(numbers)),
      slots_(numbers_.num_rows() * kSlotBytes, "the slots of records"),
      rows_(numbers_.num_rows() * kRowBytes, "the rows of slots"),
      entries_(1) {
  slots_.grow(numbers_.num_rows() * kSlotBytes);
}

int64_t RecordSlots::memory_bytes() const {
  const size_t lists = entries_.capacity() * sizeof(Entry) + free_.capacity() * sizeof(int32_t);
  return slots_.taken_bytes() + rows_.taken_bytes() + static_cast<int64_t>(lists);
}

void RecordSlots::link(int32_t previous, int32_t at, int32_t next) {
  entries_[static_cast<size_t>(previous)].next = at;
  entries_[static_cast<size_t>(next)].previous = at;
  entries_[static_cast<size_t>(at)].previous = previous;
  entries_[static_cast<size_t>(at)].next = next;
  ++unheld_;
}

void RecordSlots::unlink(int32_t at) {
  const Entry& gone = entries_[static_cast<size_t>(at)];
  entries_[static_cast<size_t>(gone.previous)].next = gone.next;
  entries_[static_cast<size_t>(gone.next)].previous = gone.previous;
  --unheld_;
}

void RecordSlots::hold(int32_t slot) {
  if (entry(slot).holds++ == 0) unlink(slot + 1);
}

void RecordSlots::release(int32_t slot) {
  if (--entry(slot).holds == 0) link(0, slot + 1, entries_[0].next);
}

int32_t RecordSlots::take_oldest() {
  const int32_t slot = entries_[0].previous - 1;
  unlink(slot + 1);
  place(row(slot)) = 0;
  return slot;
}

void RecordSlots::put_back(int32_t slot) {
  link(entries_[0].previous, slot + 1, 0);
  place(row(slot)) = slot + 1;
}

int32_t RecordSlots::take(int64_t row) {
  int32_t slot = static_cast<int32_t>(size());
  if (free_.empty()) {
    rows_.grow((int64_t{slot} + 1) * kRowBytes);
    if (free_.capacity() < entries_.size()) free_.reserve(2 * entries_.size());  // for free()
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
  place(row(slot)) = slot + 1;
}

void RecordSlots::free(int32_t slot) {
  free_.push_back(slot);
}

}  // namespace ramet
