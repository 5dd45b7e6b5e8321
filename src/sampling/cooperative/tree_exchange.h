// TreeExchange: trees of a number of nodes whose nodes several ranks own; docs/semantics.md,
// section 25. After a hop each rank tells all ranks which nodes it has found for which trees. So
// all of them choose the same nodes, and take out what they asked for in vain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exchange/asked_nodes.h"
#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "merged_sources.h"
#include "ramet/error.h"
#include "ramet/ownership.h"
#include "sampling/budget/tree_budget.h"
#include "sampling/hop_sampler.h"

namespace ramet {

template <typename Id>
class TreeExchange {
 public:
  // `membership`, and `names` by node type, must outlive it.
  TreeExchange(const Membership& membership,
               const std::vector<AskedNodes>& names,
               const Graph& graph,
               int64_t nodes_per_tree)
      : owners_(membership.owners),
        rank_(static_cast<size_t>(membership.rank)),
        ranks_(static_cast<size_t>(membership.ranks())),
        names_(names),
        budget_(graph, nodes_per_tree) {}

  void start_batch(int64_t num_trees) { budget_.start_batch(num_trees); }

  // `own`: the nodes of this rank, which before the hop were so many of each type.
  [[nodiscard]] Message announce(const NodeIndexes<Id>& own,
                                 std::span<const int64_t> before,
                                 BufferPool& pool) const {
    std::vector<ForAll<Id>> lists;
    for (size_t t = 0; t < own.size(); ++t)
      lists.emplace_back(found(own, before, t), ranks_);
    return message_of<Id>(lists.size(), ranks_, pool, [&](size_t t) { return lists[t].values(); });
  }

  // Chooses among the nodes of all ranks, and takes the others out of `own`, out of what ranks
  // asked for, and out of the sources. `move`: as HopSampler has it, for this rank's.
  template <typename Move>
  void receive(const Message& from_ranks,
               const DrawKeys& hop_keys,
               std::span<const int64_t> before,
               NodeIndexes<Id>& own,
               std::vector<IncomingIds<Id>>& requests,
               std::vector<MergedSources<Id>>& sources,
               Move&& move) {
    if (!choose(from_ranks, hop_keys, before, own)) return;
    for (size_t t = 0; t < own.size(); ++t) {
      sources[t].cut(cut(t));
      const size_t count = found(own, before, t).size();
      budget_.shorten(own[t], before[t], t, first_[t]);
      const auto positions = budget_.positions(t).subspan(first_[t], count);
      requests[t].move(before[t], positions);
      move(t, before[t], positions);
    }
  }

 private:
  static std::span<const Id> found(const NodeIndexes<Id>& own,
                                   std::span<const int64_t> before,
                                   size_t type) {
    return own[type].ids().subspan(static_cast<size_t>(before[type]));
  }

  // Whether any node has to go.
  bool choose(const Message& from_ranks,
              const DrawKeys& hop_keys,
              std::span<const int64_t> before,
              const NodeIndexes<Id>& own) {
    const MessageReader<Id> from(from_ranks, ranks_, own.size());
    all_.resize(own.size());
    first_.resize(own.size());
    std::vector<std::span<const Id>> of_all;
    for (size_t t = 0; t < own.size(); ++t) {
      all_[t].clear();
      for (size_t rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_) first_[t] = all_[t].size();
        const auto keys =
            rank == rank_ ? found(own, before, t) : checked(from.values(t, rank), t, rank);
        all_[t].insert(all_[t].end(), keys.begin(), keys.end());
      }
      of_all.emplace_back(all_[t]);
    }
    return budget_.choose(of_all, hop_keys);
  }

  // What has to go, whoever has it, in ascending order.
  [[nodiscard]] std::vector<Id> cut(size_t type) const {
    std::vector<Id> keys;
    const auto positions = budget_.positions(type);
    for (size_t i = 0; i < positions.size(); ++i) {
      if (positions[i] == TreeBudget<Id>::kCut) keys.push_back(all_[type][i]);
    }
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  [[nodiscard]] std::span<const Id> checked(std::span<const Id> keys,
                                            size_t type,
                                            size_t rank) const {
    const AskedNodes& names = names_[type];
    const Ownership& owners = owners_[type];
    for (const Id key : keys) {
      const int64_t id = names.id(key), tree = names.tree(key);
      const bool is_tree = static_cast<uint64_t>(tree) < static_cast<uint64_t>(names.num_trees);
      const bool is_node = id < owners.num_nodes();  // ids of keys are not negative
      if (is_tree && is_node && static_cast<size_t>(owners.owner(id)) == rank) continue;
      throw_error(ErrorCode::kCorrupt, "rank ", rank, " found node ", id, " of tree ", tree,
                  ", expected a node that it owns, and a tree in [0, ", names.num_trees, ")");
    }
    return keys;
  }

  const std::vector<Ownership>& owners_;  // by node type
  const size_t rank_, ranks_;
  const std::vector<AskedNodes>& names_;
  TreeBudget<Id> budget_;
  std::vector<std::vector<Id>> all_;  // what the ranks found, by node type
  std::vector<size_t> first_;         // where that of this rank begins
};

}  // namespace ramet
