// Candidates: the nodes of one type that a batch has, and those that it may draw;
// docs/semantics.md, section 25. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "sampling/node_index.h"

namespace ramet {

// A candidate, and the number that it draws: the smallest come first.
template <typename Id>
struct DrawnNode {
  double number;
  Id id;
  auto operator<=>(const DrawnNode&) const = default;
};

template <typename Id>
class Candidates {
 public:
  static constexpr int32_t kNowhere = -1;  // in no list

  void prepare(int64_t limit, NodeRange range) { found_.prepare(limit, range); }

  // The first nodes of a batch.
  void start_batch(std::span<const int64_t> seeds);

  // Adds shares[i] to the importance of ids[i]. What is not in the batch becomes a candidate.
  // Integers, and a largest one at which they stay, so that the order of additions does not matter.
  void add_shares(std::span<const Id> ids, std::span<const uint64_t> shares);

  // Up to `count` candidates, in proportion to the squares of their importances, in the order of
  // the draws. `keys`: of the hop and the node type. Valid until the next draw.
  [[nodiscard]] std::span<const DrawnNode<Id>> draw(const DrawKeys& keys, int64_t count);

  // Moves a node to the batch.
  void append(Id id);
  // The same of a node that another rank has: its position is ~k - 1, where k counts them.
  void append_foreign(Id id);

  // position[i] = the first position of ids[i] in the batch, kNowhere where it is not in it.
  void find(std::span<const Id> ids, int32_t* position);

  // In the order in which they came in; seeds may repeat.
  [[nodiscard]] std::span<const Id> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Id> foreign() const { return foreign_; }
  // Whether nodes()[position] is the same node as another one before it.
  [[nodiscard]] bool repeats(size_t position) const {
    return position < is_repeat_.size() && is_repeat_[position];
  }
  // All nodes that were met, in the batch or not, and the importance of each.
  [[nodiscard]] std::span<const Id> met() const { return found_.ids(); }
  [[nodiscard]] std::span<const uint64_t> importance() const { return importance_; }

 private:
  void relabel(std::span<const Id> ids);
  [[nodiscard]] int32_t& position_of(Id id);
  void keep_smallest(size_t count);

  NodeIndex<Id> found_;
  std::vector<uint64_t> importance_;
  std::vector<int32_t> position_;  // in nodes_, kNowhere, or as of append_foreign()
  std::vector<Id> nodes_, foreign_;
  std::vector<bool> is_repeat_;  // of seeds
  std::vector<int32_t> local_;   // of the ids of a call
  std::vector<DrawnNode<Id>> drawn_;
};

}  // namespace ramet
