#include "tree_budget.h"

#include <algorithm>

#include "ramet/store.h"

namespace ramet {

template <typename Id>
TreeBudget<Id>::TreeBudget(const Graph& graph, int64_t nodes_per_tree)
    : most_(nodes_per_tree), tree_keys_(tree_keys(graph)), position_(graph.node_types().size()) {
  for (const NodeType& type : graph.node_types())
    type_hash_.push_back(hash_name(encode_name(type.name)));
}

template <typename Id>
void TreeBudget<Id>::start_batch(int64_t num_trees) {
  room_.assign(static_cast<size_t>(num_trees), most_ - 1);
}

template <typename Id>
bool TreeBudget<Id>::choose(const std::vector<std::span<const Id>>& found,
                            const DrawKeys& hop_keys) {
  const auto for_each_new = [&](auto&& body) {
    for (size_t t = 0; t < found.size(); ++t) {
      for (size_t i = 0; i < found[t].size(); ++i)
        body(t, i, static_cast<size_t>(tree_keys_[t].tree(found[t][i])));
    }
  };
  new_nodes_.assign(room_.size(), 0);
  for_each_new([&](size_t, size_t, size_t tree) { ++new_nodes_[tree]; });
  found_.clear();
  for_each_new([&](size_t t, size_t i, size_t tree) {
    if (new_nodes_[tree] <= room_[tree]) return;
    const int64_t id = tree_keys_[t].id(found[t][i]);
    const uint64_t word = draw_word(absorb(hop_keys, type_hash_[t]), static_cast<uint64_t>(id));
    found_.push_back({static_cast<int64_t>(tree), word, t, id, i});
  });
  for (size_t t = 0; t < found.size(); ++t)
    position_[t].assign(found[t].size(), 0);
  std::sort(found_.begin(), found_.end());
  for (auto one = found_.begin(); one != found_.end(); ++one) {
    const auto tree = static_cast<size_t>(one->tree);
    const int64_t left = room_[tree];
    const auto end = one + new_nodes_[tree];
    for (auto cut = one + left; cut != end; ++cut)
      position_[cut->type][cut->number] = kCut;
    new_nodes_[tree] = left;
    one = end - 1;
  }
  for (size_t tree = 0; tree < room_.size(); ++tree)
    room_[tree] -= new_nodes_[tree];
  return !found_.empty();
}

template <typename Id>
void TreeBudget<Id>::shorten(NodeIndex<Id>& nodes, int64_t before, size_t type, size_t first) {
  const auto keys = nodes.ids();
  std::vector<Id> kept(keys.begin(), keys.begin() + before);
  for (const Id key : keys.subspan(static_cast<size_t>(before))) {
    int32_t& position = position_[type][first++];
    if (position == kCut) continue;
    position = static_cast<int32_t>(kept.size());
    kept.push_back(key);
  }
  nodes.start_batch(std::span<const Id>(kept));
}

template class TreeBudget<int32_t>;
template class TreeBudget<int64_t>;

}  // namespace ramet
