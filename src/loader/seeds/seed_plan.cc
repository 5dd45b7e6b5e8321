#include "seed_plan.h"

#include <algorithm>

#include "base/permutation.h"
#include "loader/check_options.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet {

SeedPlan::SeedPlan(const SeedPlanOptions& options)
    : BatchPlan(options.rank, options.world), options_(options) {
  require_at_least(options.batch_size, 1, "batch_size");
  require_at_least(options.world, 1, "world");
  require_at_least(options.rank, 0, "rank");
  if (options.rank >= options.world)
    throw_invalid("rank is ", options.rank, ", expected less than world = ", options.world);
}

int64_t SeedPlan::num_steps() const {
  const int64_t full = options_.num_items / options_.batch_size;
  const bool partial = !options_.drop_last && options_.num_items % options_.batch_size != 0;
  return full + (partial ? 1 : 0);
}

int64_t SeedPlan::global_size(int64_t step) const {
  require_index(step, num_steps(), "step");
  return std::min(options_.batch_size, options_.num_items - step * options_.batch_size);
}

std::vector<int64_t> SeedPlan::items_of(int64_t epoch, int64_t step, const Slice& slice) const {
  require_at_least(epoch, 0, "epoch");
  const int64_t first = step * options_.batch_size + slice.begin;
  const auto domain = static_cast<uint64_t>(Domain::kShuffle);
  const uint64_t key = absorb(absorb(domain, options_.seed), static_cast<uint64_t>(epoch));
  const Permutation shuffled(options_.num_items, key);
  std::vector<int64_t> items(static_cast<size_t>(slice.size));
  for (int64_t i = 0; i < slice.size; ++i) {
    const int64_t position = first + i;
    items[static_cast<size_t>(i)] = options_.shuffle ? shuffled(position) : position;
  }
  return items;
}

}  // namespace ramet
