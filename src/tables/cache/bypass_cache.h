// BypassCache: a policy for some rows of a table. The others pass it by: they are missing each
// time, and are no misses (CacheUse::num_bypassed). Memory: the policy's, and 16 bytes per row of
// announced batches.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "cache_policy.h"
#include "ramet/ownership.h"

namespace ramet {

// The positions in `ids` of those that no range has, ascending.
[[nodiscard]] std::vector<int64_t> positions_outside(const Array& ids,
                                                     const std::vector<NodeRange>& ranges);

class BypassCache final : public CachePolicy {
 public:
  // `bypassed`: ranges of ids of the rows that pass by.
  BypassCache(std::unique_ptr<CachePolicy> policy, std::vector<NodeRange> bypassed);

  [[nodiscard]] int64_t memory_bytes() const override { return policy_->memory_bytes(); }

 private:
  void look_at(const Array& ids) override;
  void take(const Array& ids, CacheUse& use) override;

  std::unique_ptr<CachePolicy> policy_;
  std::vector<NodeRange> bypassed_;
  std::deque<std::vector<int64_t>> positions_;  // of the policy's rows, by announced batch
  CacheUse use_;                                // of these rows alone
};

}  // namespace ramet
