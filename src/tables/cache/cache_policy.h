// CachePolicy: which rows of a table a cache holds, batch by batch. It deals in row ids and slots;
// the rows themselves are the caller's, by slot.
//
// The caller announces the row ids of batches in order, and has them served in that order. To serve
// a batch: copy the rows that are here out of their slots; then read the missing ones and write
// them to their targets, which may be slots just copied from. Later batches may be served before
// the missing rows arrive, as long as this is done batch by batch.
//
// What is served is a function of the calls alone. Memory: the ids of announced batches are kept
// alive until these are served. One thread at a time. Forks: plain memory. A call that throws has
// had no effect.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "ramet/array.h"

namespace ramet {

inline constexpr int64_t kMostSlots = int64_t{1} << 30;
inline constexpr int kMostWindow = 1 << 20;

// How a batch gets its rows. Serving into the same object again reuses its memory.
struct CacheUse {
  std::vector<int32_t> slots;      // by position in the batch: the slot that has the row, or -1
  std::vector<int64_t> missing;    // the ids of rows that no slot has
  std::vector<int64_t> positions;  // of each missing row: its position in the batch
  std::vector<int32_t> targets;    // of each missing row: the slot that is to have it now, or -1
  int64_t num_bypassed = 0;        // of the missing rows those that the cache is not for

  CacheUse() = default;
  explicit CacheUse(int64_t num_rows) { prepare(num_rows); }
  // For another batch of so many rows: nothing is missing so far, and there is room for all.
  void prepare(int64_t num_rows);
};

class CachePolicy {
 public:
  CachePolicy(const CachePolicy&) = delete;
  CachePolicy& operator=(const CachePolicy&) = delete;
  virtual ~CachePolicy() = default;

  // Rows of the table.
  [[nodiscard]] int64_t num_rows() const { return num_rows_; }
  // Slots: at most num_rows().
  [[nodiscard]] int64_t capacity() const { return capacity_; }
  // How many batches after the one to be served next may be announced.
  [[nodiscard]] int window() const { return window_; }
  // The row ids of the next batch, int32 or int64 [n]. An id that is there twice is missing twice,
  // or here twice. kInvalidArgument where window() + 1 batches wait; kOutOfRange for an id beyond
  // the table.
  void announce(Array ids);
  // Serves the batch that has waited longest. kInvalidArgument where none waits.
  [[nodiscard]] CacheUse serve();
  // The same, where `use` is that of a batch before: faster, since it takes no new memory.
  void serve(CacheUse& use);
  // Of the policy, without the ids of announced batches.
  [[nodiscard]] virtual int64_t memory_bytes() const = 0;

 protected:
  // kInvalidArgument for a negative capacity or window, or more than kMostSlots or kMostWindow.
  CachePolicy(int64_t capacity, int64_t num_rows, int window);

 private:
  // Makes room to look at so many rows: what may throw.
  virtual void prepare(int64_t /*rows*/) {}
  // A batch is announced.
  virtual void look_at(const Array& /*ids*/) {}
  // Fills `use`, whose vectors have room, for the batch that is served.
  virtual void take(const Array& ids, CacheUse& use) = 0;

  int64_t capacity_, num_rows_;
  int window_;
  std::deque<Array> announced_;
};

// Splits a batch into rows that are here and missing ones, by the slot of each row id, or -1.
template <typename Ids, typename SlotOf>
void find_missing(const Ids& ids, CacheUse& use, const SlotOf& slot_of) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const int32_t slot = slot_of(i);
    use.slots[i] = slot;
    if (slot >= 0) continue;
    use.missing.push_back(static_cast<int64_t>(ids[i]));
    use.positions.push_back(static_cast<int64_t>(i));
  }
}

}  // namespace ramet
