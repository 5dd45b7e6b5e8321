// IncomingIds: the nodes that all ranks ask this one for, and their positions among its own. One
// node type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "asked_nodes.h"
#include "message.h"
#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet {

template <typename Id>
class IncomingIds {
 public:
  // Positions in `index`, to which new nodes are appended, rank by rank. Nodes that `names` does
  // not have are kCorrupt. Index: sampling's NodeIndex<Id>, which has reserve_more() and
  // request_and_relabel().
  template <typename Index>
  void insert(const MessageReader<Id>& from,
              size_t type,
              size_t ranks,
              const AskedNodes& names,
              Index& index,
              BufferPool& pool) {
    counts_.clear();
    for (size_t rank = 0; rank < ranks; ++rank)
      counts_.push_back(static_cast<int64_t>(from.values(type, rank).size()));
    const int64_t total = std::accumulate(counts_.begin(), counts_.end(), int64_t{0});
    positions_ = pool.allocate_array(DType::kInt32, {total});
    index.reserve_more(
        static_cast<size_t>(names.have_trees() ? total : std::min(total, names.own.size())));
    auto* position = static_cast<int32_t*>(positions_.data);
    for (size_t rank = 0; rank < ranks; ++rank) {
      const std::span<const Id> nodes = from.values(type, rank);
      check(nodes, names, rank);
      request_and_relabel(index, nodes, position);
      position += nodes.size();
    }
  }

  [[nodiscard]] const std::vector<int64_t>& counts() const { return counts_; }  // by rank
  [[nodiscard]] std::span<const int32_t> positions() const { return positions_.as<int32_t>(); }
  [[nodiscard]] Array take_positions() { return std::exchange(positions_, {}); }

  // Those from `before` on go to these positions, -1: to none.
  void move(int64_t before, std::span<const int32_t> to) {
    auto* const position = static_cast<int32_t*>(positions_.data);
    for (int64_t i = 0; i < positions_.rows(); ++i) {
      if (position[i] >= before) position[i] = to[static_cast<size_t>(position[i] - before)];
    }
  }

  // kCorrupt for nodes that `names` does not have.
  static void check(std::span<const Id> nodes, const AskedNodes& names, size_t rank) {
    const auto is_outside = [&](Id node) { return !names.has(node); };
    unsigned outside = 0;  // found without a branch, then looked for
    for (const Id node : nodes)
      outside |= is_outside(node) ? 1U : 0U;
    if (outside == 0) return;
    const auto found = std::find_if(nodes.begin(), nodes.end(), is_outside);
    const int64_t id = names.have_trees() ? names.id(*found) : *found;
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " asked for node ", id,
                names.have_trees() ? concat(" of tree ", names.tree(*found)) : "",
                ", but this rank's lie in [", names.own.begin, ", ", names.own.end, ")",
                names.have_trees() ? concat(", and there are ", names.num_trees, " trees") : "");
  }

 private:
  std::vector<int64_t> counts_;
  Array positions_;
};

}  // namespace ramet
