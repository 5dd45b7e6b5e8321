// Candidates: the nodes of one type that a batch has, and those that it may draw;
// docs/semantics.md, section 25. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/draw_keys.h"
#include "sampling/node_index.h"

namespace ramet {

template <typename Id>
class Candidates {
 public:
  void prepare(int64_t limit, NodeRange range) { found_.prepare(limit, range); }

  // The first nodes of a batch.
  void start_batch(std::span<const int64_t> seeds);

  // Adds shares[i] to the importance of ids[i]. What is not in the batch becomes a candidate.
  void add_shares(std::span<const Id> ids, std::span<const double> shares);

  // Moves up to `count` candidates to the batch, in proportion to the squares of their importances,
  // in the order of the draws. `keys`: of the hop and the node type.
  void draw(const DrawKeys& keys, int64_t count);

  // position[i] = the first position of ids[i] in the batch, -1 where it is not in it.
  void find(std::span<const Id> ids, int32_t* position);

  // In the order in which they came in; seeds may repeat.
  [[nodiscard]] std::span<const Id> nodes() const { return nodes_; }
  // Whether nodes()[position] is the same node as another one before it.
  [[nodiscard]] bool repeats(size_t position) const {
    return position < is_repeat_.size() && is_repeat_[position];
  }

 private:
  struct Drawn {
    double number;
    size_t found;
    auto operator<=>(const Drawn&) const = default;
  };

  void relabel(std::span<const Id> ids);
  void keep_smallest(size_t count);

  NodeIndex<Id> found_;  // all nodes that were met, in the batch or not
  std::vector<double> importance_;
  std::vector<int32_t> position_;  // in nodes_, or -1
  std::vector<Id> nodes_;
  std::vector<bool> is_repeat_;  // of seeds
  std::vector<int32_t> local_;   // of the ids of a call
  std::vector<Drawn> drawn_;
};

}  // namespace ramet
