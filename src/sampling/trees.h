// Disjoint trees: each seed has a subgraph of its own. A node of a batch then is a tree and an id,
// which one number stands for: its key. The tree is the position of the seed; among ranks that
// cooperate, their seeds one rank after the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edge_times.h"
#include "ramet/graph.h"

namespace ramet {

// The keys of one node type.
class TreeKeys {
 public:
  explicit TreeKeys(const NodeType& type);

  // kInvalidArgument where keys of so many trees need more than 63 bits.
  void require(int64_t num_trees) const;

  [[nodiscard]] int id_bits() const { return id_bits_; }
  // Of seeds, the first of which is that of tree `first`.
  [[nodiscard]] std::vector<int64_t> keys(int64_t first, std::span<const int64_t> seeds) const;
  [[nodiscard]] int64_t key(int64_t tree, int64_t id) const { return tree << id_bits_ | id; }
  [[nodiscard]] int64_t tree(int64_t key) const { return key >> id_bits_; }
  [[nodiscard]] int64_t id(int64_t key) const { return key & ((int64_t{1} << id_bits_) - 1); }

 private:
  int id_bits_;
};

// By node type.
[[nodiscard]] std::vector<TreeKeys> tree_keys(const Graph& graph);

// Some nodes of one type.
template <typename Id>
struct TreeNodes {
  std::vector<Id> ids;
  std::vector<int64_t> trees;
  std::vector<TimeSpan> times;  // that their edges may have; empty where seeds have no times

  // seed_spans: what each tree allows, or empty.
  void assign(const TreeKeys& of_type,
              std::span<const Id> keys,
              std::span<const TimeSpan> seed_spans) {
    ids.resize(keys.size());
    trees.resize(keys.size());
    times.resize(seed_spans.empty() ? 0 : keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      ids[i] = static_cast<Id>(of_type.id(keys[i]));
      trees[i] = of_type.tree(keys[i]);
      if (!times.empty()) times[i] = seed_spans[static_cast<size_t>(trees[i])];
    }
  }
};

}  // namespace ramet
