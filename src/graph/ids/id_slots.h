// IdSlots: which position has an id, by the hash of the id: open addressing with linear probing.
//
// A slot is a word: the position plus 1, and above it bits of the hash, so that ids are seldom
// compared in vain. 0: empty. The ids themselves are elsewhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "base/prefetch.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "storage/growing_memory.h"

namespace ramet {

class IdSlots {
 public:
  explicit IdSlots(const std::string& folder) : memory_(folder, "the hash table of ids") {}

  void prefetch_slot(uint64_t hash) const { prefetch(slots_ + home(hash)); }

  // The position with this hash for which is_it(position), or -1. Needs room() for one at least.
  template <typename IsIt>
  [[nodiscard]] int64_t find(uint64_t hash, IsIt&& is_it) const {
    for (size_t s = home(hash); slots_[s] != 0; s = after(s)) {
      if ((slots_[s] ^ tag(hash)) >> kPositionBits != 0) continue;
      const int64_t position = position_in(slots_[s]);
      if (is_it(position)) return position;
    }
    return -1;
  }

  // The next position, which is the number of those inserted before.
  void insert(uint64_t hash) {
    size_t s = home(hash);
    while (slots_[s] != 0)
      s = after(s);
    slots_[s] = tag(hash) | ++size_;
  }

  // How many more may be inserted.
  [[nodiscard]] size_t room() const { return capacity_ / 4 * 3 - size_; }
  // Makes room for `count`. Forgets all positions if it must grow, and says so: they are to be
  // inserted again. A call that throws changes nothing.
  [[nodiscard]] bool make_room(size_t count) {
    if (count <= room()) return false;
    if (size_ + count > kMostPositions)
      throw_error(ErrorCode::kNoSpace, "there are more than ", kMostPositions, " ids");
    const size_t wanted = (size_ + count) / 3 * 4 + 8;
    memory_.grow(static_cast<int64_t>(std::max(wanted, kLeast) * sizeof(uint64_t)));
    slots_ = memory_.as<uint64_t>();
    std::fill_n(slots_, capacity_, 0);
    capacity_ = static_cast<size_t>(memory_.size()) / sizeof(uint64_t);
    size_ = 0;
    return true;
  }
  [[nodiscard]] int64_t memory() const { return memory_.is_file() ? 0 : memory_.size(); }

 private:
  static constexpr int kPositionBits = 40;
  static constexpr size_t kMostPositions = (size_t{1} << kPositionBits) - 1;
  static constexpr size_t kLeast = 512;

  // The upper bits of the hash are the position, the lower ones the tag.
  [[nodiscard]] size_t home(uint64_t hash) const {
    return static_cast<size_t>((static_cast<uint128_t>(hash) * capacity_) >> 64);
  }
  [[nodiscard]] size_t after(size_t slot) const { return slot + 1 == capacity_ ? 0 : slot + 1; }
  static uint64_t tag(uint64_t hash) { return hash << kPositionBits; }
  static int64_t position_in(uint64_t slot) {
    return static_cast<int64_t>(slot & kMostPositions) - 1;
  }

  GrowingMemory memory_;
  uint64_t* slots_ = nullptr;
  size_t capacity_ = 0, size_ = 0;
};

}  // namespace ramet
