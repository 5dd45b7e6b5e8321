// RecencyCache: a cache of the rows that were used last; it looks back alone. Least recently used
// goes first, but never a row of the batch that is served: RowCache's rule. Memory: 4 bytes per row
// of the table, 24 per slot.
#pragma once

#include <vector>

#include "cache_policy.h"
#include "slot_lists.h"

namespace ramet {

class RecencyCache final : public CachePolicy {
 public:
  RecencyCache(int64_t capacity, int64_t num_rows);

  [[nodiscard]] int64_t memory_bytes() const override;

 private:
  void take(const Array& ids, CacheUse& use) override;
  [[nodiscard]] int32_t slot_for_new_row();
  void use_slot(int32_t slot);
  [[nodiscard]] int32_t& slot_of(int64_t id) { return slot_of_row_[static_cast<size_t>(id)]; }

  std::vector<int32_t> slot_of_row_;  // -1: not here
  std::vector<int64_t> row_of_slot_;  // of slots that were filled
  std::vector<int64_t> used_in_;      // by slot: the batch
  SlotLists by_use_;                  // one list
  int64_t batch_ = 0;
};

}  // namespace ramet
