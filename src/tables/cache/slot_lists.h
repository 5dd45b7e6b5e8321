// SlotLists: the slots of a cache in doubly linked lists. A slot is in at most one list. Each call
// takes constant time, add_slot() on average. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/huge_vector.h"

namespace ramet {

class SlotLists {
 public:
  // `slots` + `lists` must be below 2^31.
  SlotLists(int64_t slots, int64_t lists) : lists_(static_cast<int32_t>(lists)) {
    links_.resize(static_cast<size_t>(slots + lists));
    for (int64_t list = 0; list < lists; ++list)
      clear(list);
  }

  // One slot more, in no list.
  void add_slot() { links_.emplace_back(); }

  [[nodiscard]] bool empty(int64_t list) const { return last(list) < 0; }
  // The slot before all others to leave; -1 of an empty list.
  [[nodiscard]] int32_t last(int64_t list) const {
    return std::max(at(list).previous - lists_, -1);
  }
  void add_first(int64_t list, int32_t slot) { insert(slot, static_cast<int32_t>(list)); }
  void add_last(int64_t list, int32_t slot) { insert(slot, at(list).previous); }
  void remove(int32_t slot) {
    const auto [previous, next] = at(link_of(slot));
    at(previous).next = next;
    at(next).previous = previous;
  }
  // Forgets what is in the list.
  void clear(int64_t list) {
    const auto end = static_cast<int32_t>(list);
    at(end) = {end, end};
  }
  void prefetch(int32_t slot) const { __builtin_prefetch(&at(link_of(slot)), 1); }

  [[nodiscard]] int64_t memory_bytes() const {
    return static_cast<int64_t>(links_.capacity() * sizeof(Link));
  }

 private:
  struct Link {
    int32_t previous = 0, next = 0;
  };
  [[nodiscard]] int32_t link_of(int32_t slot) const { return lists_ + slot; }
  [[nodiscard]] Link& at(int64_t i) { return links_[static_cast<size_t>(i)]; }
  [[nodiscard]] const Link& at(int64_t i) const { return links_[static_cast<size_t>(i)]; }
  // Behind the link `previous`.
  void insert(int32_t slot, int32_t previous) {
    const int32_t link = link_of(slot), next = at(previous).next;
    at(link) = {previous, next};
    at(previous).next = link;
    at(next).previous = link;
  }

  int32_t lists_;
  HugeVector<Link> links_;  // of the lists' ends, then of slots
};

}  // namespace ramet
