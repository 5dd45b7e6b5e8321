// TreeBudget: ends each disjoint tree where it has so many nodes; docs/semantics.md, section 25.
// One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "sampling/hop_sampler.h"
#include "sampling/trees.h"

namespace ramet {

template <typename Id>
class TreeBudget {
 public:
  TreeBudget(const Graph& graph, int64_t nodes_per_tree);

  // Each tree has its seed.
  void start_batch(int64_t num_trees);

  // Takes nodes that a hop has appended to the lists, which had `before`, back out of trees that
  // they do not fit in, together with the edges that they are the sources of. `hop_keys`: the
  // step's keys, which have absorbed the hop. Whether there were any.
  bool cut(NodeIndexes<Id>& nodes,
           std::span<const int64_t> before,
           const DrawKeys& hop_keys,
           std::vector<Relation>& relations);

  // After cut(): where the nodes of a type that the hop had appended are now, -1 for those taken
  // out.
  [[nodiscard]] std::span<const int32_t> positions(size_t type) const { return position_[type]; }

 private:
  // A node that a hop has found for a tree that has no room for all of them.
  struct Found {
    int64_t tree;
    uint64_t word;
    size_t type;
    int64_t position;  // in the list of its type
    auto operator<=>(const Found&) const = default;
  };

  // Marks the nodes that have to go, in is_cut_. Whether there are any.
  bool choose(const NodeIndexes<Id>& nodes,
              std::span<const int64_t> before,
              const DrawKeys& hop_keys);
  // The list without them; position_[type] gets the new positions.
  void shorten(NodeIndex<Id>& nodes, int64_t before, size_t type);
  void shorten(Relation& relation, int64_t before) const;

  const Graph& graph_;
  const int64_t most_;
  const std::vector<TreeKeys> tree_keys_;  // by node type
  std::vector<uint64_t> type_hash_;
  std::vector<int64_t> room_;       // by tree
  std::vector<int64_t> new_nodes_;  // by tree, of the hop
  std::vector<Found> found_;
  std::vector<std::vector<int32_t>> position_;  // by node type, of the hop's new nodes; kCut: none
};

}  // namespace ramet
