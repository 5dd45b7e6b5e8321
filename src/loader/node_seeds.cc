#include "node_seeds.h"

namespace ramet {
namespace {

// values[item] of each item.
std::vector<int64_t> at(const Array& values, std::span<const int64_t> items) {
  std::vector<int64_t> result;
  result.reserve(items.size());
  with_ids(values, [&](auto of_item) {
    for (const int64_t item : items)
      result.push_back(of_item[static_cast<size_t>(item)]);
  });
  return result;
}

}  // namespace

SeedList NodeSeeds::of(std::span<const int64_t> items) const {
  SeedList seeds{.type = node_type};
  seeds.ids = ids.data == nullptr ? std::vector(items.begin(), items.end()) : at(ids, items);
  if (times.data != nullptr) seeds.times = at(times, items);
  return seeds;
}

}  // namespace ramet
