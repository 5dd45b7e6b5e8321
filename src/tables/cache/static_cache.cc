#include "static_cache.h"

#include <algorithm>

#include "ramet/error.h"

namespace ramet {
namespace {

constexpr size_t kHeldAhead = 32;

}  // namespace

StaticCache::StaticCache(std::span<const int64_t> held, int64_t num_rows)
    : CachePolicy(std::ssize(held), num_rows, 0), slot_of_row_(static_cast<size_t>(num_rows), -1) {
  int32_t slots = 0;
  for (const int64_t id : held) {
    require_index(id, num_rows, "a row to hold");
    if (slot_of(id) == -1) slot_of(id) = -2 - slots++;
  }
}

int64_t StaticCache::memory_bytes() const {
  return static_cast<int64_t>(slot_of_row_.size() * sizeof(int32_t));
}

void StaticCache::take(const Array& ids, CacheUse& use) {
  with_ids(ids, [&](auto values) {
    find_missing(values, use, [&](size_t i) {
      if (i + kHeldAhead < values.size()) __builtin_prefetch(&slot_of(values[i + kHeldAhead]));
      return std::max(slot_of(values[i]), -1);
    });
  });
  for (const int64_t id : use.missing) {
    int32_t& slot = slot_of(id);
    const bool is_new = slot < -1;  // else not held, or the batch has the row twice
    if (is_new) slot = -2 - slot;
    use.targets.push_back(is_new ? slot : -1);
  }
}

}  // namespace ramet
