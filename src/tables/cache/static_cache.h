// StaticCache: a cache of rows that are chosen beforehand (hottest_rows.h), and never leave. A row
// is taken in when it is first used: the rows are those that another rank must send, which no
// constructor can read. PreloadedRows has the rows that it can. Memory: 4 bytes per row of the
// table.
#pragma once

#include <span>
#include <vector>

#include "cache_policy.h"

namespace ramet {

class StaticCache final : public CachePolicy {
 public:
  // `held`: distinct ids of the table. kOutOfRange for others, and as CachePolicy.
  StaticCache(std::span<const int64_t> held, int64_t num_rows);

  [[nodiscard]] int64_t memory_bytes() const override;

 private:
  void take(const Array& ids, CacheUse& use) override;
  [[nodiscard]] int32_t& slot_of(int64_t id) { return slot_of_row_[static_cast<size_t>(id)]; }

  std::vector<int32_t> slot_of_row_;  // -1: not held; -2 - slot: held, but never used so far
};

}  // namespace ramet
