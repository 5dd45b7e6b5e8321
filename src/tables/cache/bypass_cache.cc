#include "bypass_cache.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ramet/buffer_pool.h"

namespace ramet {

std::vector<int64_t> positions_outside(const Array& ids, const std::vector<NodeRange>& ranges) {
  std::vector<int64_t> positions;
  with_ids(ids, [&](auto values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto has = [id = static_cast<int64_t>(values[i])](const NodeRange& range) {
        return id >= range.begin && id < range.end;
      };
      if (std::none_of(ranges.begin(), ranges.end(), has))
        positions.push_back(static_cast<int64_t>(i));
    }
  });
  return positions;
}

BypassCache::BypassCache(std::unique_ptr<CachePolicy> policy, std::vector<NodeRange> bypassed)
    : CachePolicy(policy->capacity(), policy->num_rows(), policy->window()),
      policy_(std::move(policy)),
      bypassed_(std::move(bypassed)) {}

void BypassCache::look_at(const Array& ids) {
  positions_.push_back(positions_outside(ids, bypassed_));
  std::vector<int64_t> own;
  with_ids(ids, [&](auto values) {
    for (const int64_t position : positions_.back())
      own.push_back(values[static_cast<size_t>(position)]);
  });
  policy_->announce(copy(borrow(std::span<const int64_t>(own))));
}

void BypassCache::take(const Array& ids, CacheUse& use) {
  policy_->serve(use_);
  const std::vector<int64_t> positions = std::move(positions_.front());
  positions_.pop_front();
  std::fill(use.slots.begin(), use.slots.end(), -1);
  for (size_t i = 0; i < positions.size(); ++i)
    use.slots[static_cast<size_t>(positions[i])] = use_.slots[i];
  use.missing = use_.missing;
  use.targets = use_.targets;
  for (const int64_t position : use_.positions)
    use.positions.push_back(positions[static_cast<size_t>(position)]);
  with_ids(ids, [&](auto values) {
    auto own = positions.begin();
    for (int64_t i = 0; i < std::ssize(values); ++i) {
      if (own != positions.end() && *own == i) {
        ++own;
        continue;
      }
      use.missing.push_back(values[static_cast<size_t>(i)]);
      use.positions.push_back(i);
      use.targets.push_back(-1);
    }
  });
  use.num_bypassed = std::ssize(use.missing) - std::ssize(use_.missing);
}

}  // namespace ramet
