// Requests: the nodes that all ranks ask this one for, and their positions among its own. One node
// type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "message.h"
#include "node_index.h"
#include "ramet/error.h"
#include "ramet/graph.h"
#include "relation_builder.h"

namespace ramet {

// kCorrupt unless ids that came from `rank` are nodes of `type`.
template <typename Id>
void check_ids(std::span<const Id> ids, const NodeType& type, size_t rank) {
  for (const Id id : ids) {
    if (static_cast<uint64_t>(id) < static_cast<uint64_t>(type.num_nodes)) continue;
    throw Error(ErrorCode::kCorrupt, "rank " + std::to_string(rank) + " sent node " +
                                         std::to_string(id) + ", which is outside [0, " +
                                         std::to_string(type.num_nodes) + ") of node type '" +
                                         type.name + "'");
  }
}

template <typename Id>
class Requests {
 public:
  // Positions in `index`, to which new ids are appended, rank by rank.
  void enter(const MessageReader<Id>& from,
             size_t type,
             size_t ranks,
             const NodeType& node_type,
             NodeIndex<Id>& index) {
    counts_.clear();
    size_t total = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      counts_.push_back(static_cast<int64_t>(from.values(type, rank).size()));
      total += from.values(type, rank).size();
    }
    index.reserve_more(std::min(total, static_cast<size_t>(node_type.num_nodes)));
    positions_.resize(total);
    size_t first = 0;
    for (size_t rank = 0; rank < ranks; ++rank) {
      const std::span<const Id> ids = from.values(type, rank);
      check_ids(ids, node_type, rank);
      request_and_relabel(index, ids, positions_.data() + first);
      first += ids.size();
    }
  }

  [[nodiscard]] const std::vector<int64_t>& counts() const { return counts_; }  // by rank
  [[nodiscard]] std::span<const int32_t> positions() const { return positions_; }

 private:
  std::vector<int64_t> counts_;
  std::vector<int32_t> positions_;
};

}  // namespace ramet
