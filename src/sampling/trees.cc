#include "trees.h"

#include <algorithm>
#include <bit>

#include "ramet/error.h"

namespace ramet {
namespace {

// Of the numbers below `count`.
int bits_of(int64_t count) {
  return static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(count, 1) - 1)));
}

}  // namespace

TreeKeys::TreeKeys(const NodeType& type) : id_bits_(bits_of(type.num_nodes)) {}

void TreeKeys::require(int64_t num_trees) const {
  constexpr int kMostBits = 63;
  if (id_bits_ + bits_of(num_trees) <= kMostBits) return;
  throw_invalid(num_trees, " disjoint trees of a node type whose ids have ", id_bits_,
                " bits, expected at most 2^", kMostBits - id_bits_, "; use a smaller batch_size");
}

std::vector<int64_t> TreeKeys::keys(int64_t first, std::span<const int64_t> seeds) const {
  std::vector<int64_t> keys;
  for (const int64_t seed : seeds)
    keys.push_back(key(first++, seed));
  return keys;
}

std::vector<TreeKeys> tree_keys(const Graph& graph) {
  return {graph.node_types().begin(), graph.node_types().end()};
}

}  // namespace ramet
