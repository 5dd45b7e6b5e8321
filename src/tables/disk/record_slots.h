// RecordSlots: which rows are in memory, in which slots, and which of them may leave: those that
// nobody holds, the longest unused first.
//
// A slot is free; or taken, for a row that cannot be found in it yet, or no more; or its row is
// found. One thread at a time, but for rows(), find() and changes of other rows' slots.
#pragma once

#include <cstdint>
#include <vector>

#include "base/system/reserved_memory.h"
#include "ramet/node_rows.h"
#include "tables/cache/slot_lists.h"

namespace ramet {

class RecordSlots {
 public:
  // `numbers`: of rows among those that have records.
  explicit RecordSlots(NodeRows numbers);

  // The slot in which a row is found, or -1.
  [[nodiscard]] int32_t find(int64_t row) const {
    return slots_.as<int32_t>()[numbers_.row(row)] - 1;
  }
  // By slot, of those that were ever taken.
  [[nodiscard]] const int64_t* rows() const { return rows_.as<int64_t>(); }
  [[nodiscard]] int64_t row(int32_t slot) const { return rows()[slot]; }
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(entries_.size()); }
  [[nodiscard]] int64_t taken() const { return size() - static_cast<int64_t>(free_.size()); }
  // Of taken slots those that nobody holds.
  [[nodiscard]] int64_t unheld() const { return unheld_; }
  [[nodiscard]] int64_t memory_bytes() const;

  void hold(int32_t slot);
  void release(int32_t slot);
  [[nodiscard]] bool changed(int32_t slot) const { return entry(slot).changed; }
  void set_changed(int32_t slot, bool changed) { entry(slot).changed = changed; }

  // The slot that nobody holds and that was released longest ago, whose row is found no more.
  // unheld() is not 0.
  [[nodiscard]] int32_t take_oldest();
  // The row of such a slot is found again, and leaves next.
  void put_back(int32_t slot);
  // Takes a free slot. kNoSpace.
  [[nodiscard]] int32_t take(int64_t row);
  // Its row is found, unchanged and held once.
  void publish(int32_t slot);
  // Frees a taken slot whose row is not found.
  void free(int32_t slot);

 private:
  struct Entry {
    int32_t holds = 0;
    bool changed = false;
  };
  [[nodiscard]] Entry& entry(int32_t slot) { return entries_[static_cast<size_t>(slot)]; }
  [[nodiscard]] const Entry& entry(int32_t slot) const {
    return entries_[static_cast<size_t>(slot)];
  }

  // Where it is said in which slot a row is.
  [[nodiscard]] int32_t& position(int64_t row) { return slots_.as<int32_t>()[numbers_.row(row)]; }

  NodeRows numbers_;
  ReservedMemory slots_;  // by number: int32, from 1 on; 0: none
  ReservedMemory rows_;   // by slot: int64
  std::vector<Entry> entries_;
  SlotLists by_use_{0, 1};  // one list: of slots that nobody holds
  std::vector<int32_t> free_;
  int64_t unheld_ = 0;
};

}  // namespace ramet
