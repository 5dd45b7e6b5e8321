// SlotLists: the slots of a cache in doubly linked lists. A slot is in at most one list. Each call
// takes constant time. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/huge_vector.h"

namespace ramet {

class SlotLists {
 public:
  // `slots` + `lists` must be below 2^31.
  SlotLists(int64_t slots, int64_t lists) : slots_(slots) {
    links_.resize(static_cast<size_t>(slots + lists));
    for (int64_t list = 0; list < lists; ++list)
      clear(list);
  }

  [[nodiscard]] bool empty(int64_t list) const { return last(list) < 0; }
  // The slot that has been in the list longest; -1 of an empty list.
  [[nodiscard]] int32_t last(int64_t list) const {
    const int32_t slot = at(slots_ + list).previous;
    return slot < slots_ ? slot : -1;
  }
  void add_first(int64_t list, int32_t slot) {
    const auto end = static_cast<int32_t>(slots_ + list);
    const int32_t first = at(end).next;
    at(slot) = {end, first};
    at(end).next = slot;
    at(first).previous = slot;
  }
  void remove(int32_t slot) {
    const auto [previous, next] = at(slot);
    at(previous).next = next;
    at(next).previous = previous;
  }
  // Forgets what is in the list.
  void clear(int64_t list) {
    const auto end = static_cast<int32_t>(slots_ + list);
    at(end) = {end, end};
  }
  void prefetch(int32_t slot) const { __builtin_prefetch(&at(slot), 1); }

  [[nodiscard]] int64_t memory_bytes() const {
    return static_cast<int64_t>(links_.size() * sizeof(Link));
  }

 private:
  struct Link {
    int32_t previous, next;
  };
  [[nodiscard]] Link& at(int64_t i) { return links_[static_cast<size_t>(i)]; }
  [[nodiscard]] const Link& at(int64_t i) const { return links_[static_cast<size_t>(i)]; }

  int64_t slots_;
  HugeVector<Link> links_;  // of slots, then of the lists' ends
};

}  // namespace ramet
