// TreeBudget: ends each disjoint tree where it has so many nodes; docs/semantics.md, section 25.
// One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "sampling/node_index.h"
#include "sampling/relation_builder.h"
#include "sampling/trees.h"

namespace ramet {

template <typename Id>
class TreeBudget {
 public:
  static constexpr int32_t kCut = -1;

  TreeBudget(const Graph& graph, int64_t nodes_per_tree);

  // Each tree has its seed.
  void start_batch(int64_t num_trees);

  // Of all nodes that a hop has found, by node type, marks those that do not fit in their trees.
  // `hop_keys`: the step's keys, which have absorbed the hop. Whether there are any.
  bool choose(const std::vector<std::span<const Id>>& found, const DrawKeys& hop_keys);

  // Then, for each type: takes those of a list, which had `before`, back out. They are those that
  // choose() was given from number `first` on.
  void shorten(NodeIndex<Id>& nodes, int64_t before, size_t type, size_t first = 0);
  // By number: where the nodes of a type that the hop had found are now in the list, kCut for those
  // taken out; before shorten() any other number for the rest.
  [[nodiscard]] std::span<const int32_t> positions(size_t type) const { return position_[type]; }

 private:
  // A node that a hop has found for a tree that has no room for all of them.
  struct Found {
    int64_t tree;
    uint64_t word;
    size_t type;
    int64_t id;
    size_t number;
    auto operator<=>(const Found&) const = default;
  };

  const int64_t most_;
  const std::vector<TreeKeys> tree_keys_;  // by node type
  std::vector<uint64_t> type_hash_;
  std::vector<int64_t> room_;       // by tree
  std::vector<int64_t> new_nodes_;  // by tree, of the hop
  std::vector<Found> found_;
  std::vector<std::vector<int32_t>> position_;  // by node type and number
};

// Takes edges out of a relation: those of whose source now(source) is nothing. The other sources
// become what it is.
template <typename Now>
void keep_edges(Relation& relation, Now&& now) {
  auto* const indptr = static_cast<int64_t*>(relation.indptr.data);
  auto* const indices = static_cast<int32_t*>(relation.indices.data);
  const int64_t num_dst = relation.indptr.rows() - 1;
  const auto keep = [&](auto* positions) {
    int64_t kept = 0, begin = 0;
    for (int64_t i = 0; i < num_dst; ++i) {
      const int64_t end = indptr[i + 1];
      for (int64_t e = begin; e < end; ++e) {
        const std::optional<int32_t> source = now(indices[e]);
        if (!source) continue;
        indices[kept] = *source;
        positions[kept++] = positions[e];
      }
      begin = end;
      indptr[i + 1] = kept;
    }
    relation.indices.shape[0] = relation.position.shape[0] = kept;
  };
  if (relation.indices.rows() > 0) with_mutable_ids(relation.position, keep);
}

}  // namespace ramet
