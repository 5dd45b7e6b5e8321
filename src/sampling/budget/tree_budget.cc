#include "tree_budget.h"

#include <algorithm>
#include <type_traits>

#include "ramet/store.h"

namespace ramet {
namespace {

constexpr int32_t kCut = -1;

}  // namespace

template <typename Id>
TreeBudget<Id>::TreeBudget(const Graph& graph, int64_t nodes_per_tree)
    : graph_(graph),
      most_(nodes_per_tree),
      tree_keys_(tree_keys(graph)),
      position_(graph.node_types().size()) {
  for (const NodeType& type : graph.node_types())
    type_hash_.push_back(hash_name(encode_name(type.name)));
}

template <typename Id>
void TreeBudget<Id>::start_batch(int64_t num_trees) {
  room_.assign(static_cast<size_t>(num_trees), most_ - 1);
}

template <typename Id>
bool TreeBudget<Id>::cut(NodeIndexes<Id>& nodes,
                         std::span<const int64_t> before,
                         const DrawKeys& hop_keys,
                         std::vector<Relation>& relations) {
  if (!choose(nodes, before, hop_keys)) return false;
  for (size_t t = 0; t < nodes.size(); ++t)
    shorten(nodes[t], before[t], t);
  for (Relation& relation : relations) {
    const EdgeType& edges = graph_.edge_types()[static_cast<size_t>(relation.edge_type)];
    shorten(relation, before[static_cast<size_t>(edges.src)]);
  }
  return true;
}

template <typename Id>
bool TreeBudget<Id>::choose(const NodeIndexes<Id>& nodes,
                            std::span<const int64_t> before,
                            const DrawKeys& hop_keys) {
  const auto for_each_new = [&](auto&& body) {
    for (size_t t = 0; t < nodes.size(); ++t) {
      const auto keys = nodes[t].ids();
      for (auto i = static_cast<size_t>(before[t]); i < keys.size(); ++i)
        body(t, static_cast<int64_t>(i), static_cast<size_t>(tree_keys_[t].tree(keys[i])));
    }
  };
  new_nodes_.assign(room_.size(), 0);
  for_each_new([&](size_t, int64_t, size_t tree) { ++new_nodes_[tree]; });
  found_.clear();
  for_each_new([&](size_t t, int64_t i, size_t tree) {
    if (new_nodes_[tree] <= room_[tree]) return;
    const int64_t id = tree_keys_[t].id(nodes[t].ids()[static_cast<size_t>(i)]);
    const uint64_t word = draw_word(absorb(hop_keys, type_hash_[t]), static_cast<uint64_t>(id));
    found_.push_back({static_cast<int64_t>(tree), word, t, i});
  });
  for (size_t t = 0; t < nodes.size(); ++t)
    position_[t].assign(static_cast<size_t>(nodes[t].size() - before[t]), 0);
  std::sort(found_.begin(), found_.end());
  for (auto one = found_.begin(); one != found_.end(); ++one) {
    const auto tree = static_cast<size_t>(one->tree);
    const int64_t left = room_[tree];
    const auto end = one + new_nodes_[tree];
    for (auto cut = one + left; cut != end; ++cut)
      position_[cut->type][static_cast<size_t>(cut->position - before[cut->type])] = kCut;
    new_nodes_[tree] = left;
    one = end - 1;
  }
  for (size_t tree = 0; tree < room_.size(); ++tree)
    room_[tree] -= new_nodes_[tree];
  return !found_.empty();
}

template <typename Id>
void TreeBudget<Id>::shorten(NodeIndex<Id>& nodes, int64_t before, size_t type) {
  const auto keys = nodes.ids();
  std::vector<Id> kept(keys.begin(), keys.begin() + before);
  for (size_t i = 0; i < position_[type].size(); ++i) {
    int32_t& position = position_[type][i];
    if (position == kCut) continue;
    position = static_cast<int32_t>(kept.size());
    kept.push_back(keys[static_cast<size_t>(before) + i]);
  }
  nodes.start_batch(std::span<const Id>(kept));
}

template <typename Id>
void TreeBudget<Id>::shorten(Relation& relation, int64_t before) const {
  const EdgeType& edges = graph_.edge_types()[static_cast<size_t>(relation.edge_type)];
  const std::vector<int32_t>& position_of = position_[static_cast<size_t>(edges.src)];
  auto* const indptr = static_cast<int64_t*>(relation.indptr.data);
  auto* const indices = static_cast<int32_t*>(relation.indices.data);
  const int64_t num_dst = relation.indptr.rows() - 1;
  const auto keep = [&](auto* positions) {
    int64_t kept = 0, begin = 0;
    for (int64_t i = 0; i < num_dst; ++i) {
      const int64_t end = indptr[i + 1];
      for (int64_t e = begin; e < end; ++e) {
        const int64_t source = indices[e];
        const int32_t now = source < before ? static_cast<int32_t>(source)
                                            : position_of[static_cast<size_t>(source - before)];
        if (now == kCut) continue;
        indices[kept] = now;
        positions[kept++] = positions[e];
      }
      begin = end;
      indptr[i + 1] = kept;
    }
    relation.indices.shape[0] = relation.position.shape[0] = kept;
  };
  if (relation.indices.rows() > 0) with_mutable_ids(relation.position, keep);
}

template class TreeBudget<int32_t>;
template class TreeBudget<int64_t>;

}  // namespace ramet
