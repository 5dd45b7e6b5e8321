// RelabelTable: from the id of a node to its position in the batch's n_id. Open addressing with
// linear probing; a slot belongs to the current batch if it carries the current stamp, so starting
// a batch clears nothing. Memory grows with the largest batch, not with the graph. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/random.h"

namespace ramet {

class RelabelTable {
 public:
  // Forgets all nodes.
  void start_batch() {
    size_ = 0;
    if (++stamp_ != 0) return;
    slots_.assign(slots_.size(), Slot{});  // the stamp wrapped around
    stamp_ = 1;
  }

  void prefetch(int64_t node) const { __builtin_prefetch(&slots_[home(node)], 1); }

  // The position of `node`; if it is new, it gets `next`.
  int32_t find_or_insert(int64_t node, int32_t next) {
    for (size_t i = home(node);; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.stamp != stamp_) {
        slot = {node, stamp_, next};
        if (++size_ * 2 > slots_.size()) grow();
        return next;
      }
      if (slot.node == node) return slot.position;
    }
  }

 private:
  struct Slot {
    int64_t node = 0;
    uint32_t stamp = 0;
    int32_t position = 0;
  };

  [[nodiscard]] size_t home(int64_t node) const {
    return (static_cast<uint64_t>(node) * kGolden) >> shift_;
  }

  void grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    --shift_;
    for (const Slot& slot : old) {
      if (slot.stamp != stamp_) continue;
      size_t i = home(slot.node);
      while (slots_[i].stamp == stamp_)
        i = (i + 1) & mask_;
      slots_[i] = slot;
    }
  }

  static constexpr int kFirstBits = 6;
  std::vector<Slot> slots_ = std::vector<Slot>(size_t{1} << kFirstBits);
  size_t mask_ = (size_t{1} << kFirstBits) - 1;
  int shift_ = 64 - kFirstBits;
  size_t size_ = 0;
  uint32_t stamp_ = 0;
};

}  // namespace ramet
