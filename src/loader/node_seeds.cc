#include "node_seeds.h"

namespace ramet {

std::vector<int64_t> NodeSeeds::nodes(std::span<const int64_t> items) const {
  std::vector<int64_t> nodes(items.begin(), items.end());
  if (ids.data == nullptr) return nodes;
  with_ids(ids, [&](auto of_item) {
    for (int64_t& node : nodes)
      node = of_item[static_cast<size_t>(node)];
  });
  return nodes;
}

}  // namespace ramet
