// BudgetExchange: budgets of node types where ranks cooperate; docs/semantics.md, section 25.
//
// A hop has two exchanges. Each rank sends what its nodes share out to the owners of the sources,
// summed by source. Then it tells all ranks its smallest numbers, as many as the budget: so all
// ranks know the nodes of the batch. After the last hop each rank asks for the sources of its
// edges.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "exchange/routes.h"
#include "ramet/error.h"
#include "sampling/budget/budget_hops.h"
#include "sampling/hop_sampler.h"

namespace ramet {

template <typename Id>
class BudgetExchange {
 public:
  // By node type: `own`, the nodes of this rank, `names`, and `routes` and `requests`, which in the
  // end say what travels for the layers. What is given by reference must outlive it.
  BudgetExchange(const Membership& membership,
                 const std::vector<AskedNodes>& names,
                 const HopOptions& options,
                 HopDriver& driver,
                 NodeIndexes<Id>& own,
                 std::vector<Routes<Id>>& routes,
                 std::vector<IncomingIds<Id>>& requests)
      : membership_(membership),
        rank_(static_cast<size_t>(membership.rank)),
        ranks_(static_cast<size_t>(membership.ranks())),
        names_(names),
        graph_(*options.graph),
        pool_(*options.pool),
        driver_(driver),
        own_(own),
        routes_(routes),
        requests_(requests),
        hops_(options, driver),
        drawn_(names.size()) {
    hops_.prepare(shares_);
  }

  void exclude(std::span<const ExcludedEdges> excluded) { hops_.exclude(excluded); }

  // The first message of a batch, whose seeds `own` and the driver have.
  Message start() {
    hops_.start();
    for (size_t t = 0; t < own_.size(); ++t) {
      if (own_[t].size() != std::ssize(hops_.nodes()[t].nodes()))
        throw_error(ErrorCode::kCorrupt, "ranks asked for ", own_[t].size(), " seeds of node type ",
                    t, ", of which rank ", rank_, " has none");
    }
    std::vector<ForAll<Id>> seeds;
    for (const NodeIndex<Id>& of_type : own_)
      seeds.emplace_back(of_type.ids(), ranks_);
    return send_shares(seeds);
  }

  // The next message, or nullopt when the driver has all edges.
  std::optional<Message> receive(const Message& from_ranks) {
    switch (stage_) {
      case Stage::kShares:
        take_shares(from_ranks);
        return hops_.are_drawn() ? ask_for_sources() : send_drawn();
      case Stage::kDrawn:
        take_drawn(from_ranks);
        if (hops_.are_drawn()) return ask_for_sources();
        return send_shares(std::vector<ForAll<Id>>(names_.size(), {{}, ranks_}));
      case Stage::kSources:
        take_requests(from_ranks);
    }
    return std::nullopt;
  }

 private:
  // What comes in next.
  enum class Stage : uint8_t { kShares, kDrawn, kSources };
  // Lists of a message, each of all node types.
  enum OfShares : size_t { kIds, kSums, kSeeds, kListsOfShares };
  enum OfDrawn : size_t { kDrawnIds, kNumbers, kListsOfDrawn };
  struct FromRank {
    DrawnNode<Id> drawn;
    size_t rank;
    auto operator<=>(const FromRank&) const = default;
  };

  // Numbers of 8 bytes travel as so many ids.
  static constexpr size_t kWords = sizeof(uint64_t) / sizeof(Id);
  template <typename T>
  static std::vector<T> numbers_of(std::span<const Id> words, size_t count, size_t rank) {
    if (words.size() != kWords * count)
      throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent ", words.size() / kWords,
                  " numbers of ", count, " nodes, expected one of each");
    std::vector<T> numbers(count);
    if (count > 0) std::memcpy(numbers.data(), words.data(), words.size_bytes());
    return numbers;
  }

  Message send_shares(const std::vector<ForAll<Id>>& seeds) {
    const size_t types = names_.size();
    for (Candidates<Id>& of_type : shares_)
      of_type.start_batch({});
    if (!hops_.are_drawn()) hops_.share(shares_);
    std::vector<std::vector<Id>> sums(types);
    std::vector<std::vector<int64_t>> counts(types);
    for (size_t t = 0; t < types; ++t) {
      routes_[t].build(shares_[t].met(), names_[t], membership_.owners[t], pool_);
      for (const int64_t count : routes_[t].counts())
        counts[t].push_back(count * static_cast<int64_t>(kWords));
      const auto sum = shares_[t].importance();
      sums[t].resize(kWords * sum.size());
      for (size_t i = 0; i < sum.size(); ++i)
        std::memcpy(&sums[t][kWords * static_cast<size_t>(routes_[t].positions()[i])], &sum[i],
                    sizeof(sum[i]));
    }
    stage_ = Stage::kShares;
    return message_of<Id>(kListsOfShares * types, ranks_, pool_, [&](size_t list) {
      const size_t t = list % types;
      if (list / types == kSeeds) return seeds[t].values();
      return list / types == kIds ? Values<Id>{routes_[t].counts(), routes_[t].nodes()}
                                  : Values<Id>{counts[t], sums[t]};
    });
  }

  void take_shares(const Message& from_ranks) {
    const size_t types = names_.size();
    const MessageReader<Id> from(from_ranks, ranks_, kListsOfShares * types);
    for (size_t t = 0; t < types; ++t) {
      Candidates<Id>& nodes = hops_.nodes()[t];
      for (size_t rank = 0; rank < ranks_; ++rank) {
        const auto ids = from.values(kIds * types + t, rank);
        IncomingIds<Id>::check(ids, names_[t], rank);
        const auto words = from.values(kSums * types + t, rank);
        nodes.add_shares(ids, numbers_of<uint64_t>(words, ids.size(), rank));
        for (const Id seed : from.values(kSeeds * types + t, rank)) {
          check_node(seed, t, rank);
          if (rank != rank_) nodes.append_foreign(seed);
        }
      }
    }
  }

  Message send_drawn() {
    const size_t types = names_.size();
    std::vector<ForAll<Id>> lists(kListsOfDrawn * types);
    for (size_t t = 0; t < types; ++t) {
      const auto drawn = hops_.draw(t);
      drawn_[t].assign(drawn.begin(), drawn.end());
      std::vector<Id> ids(drawn.size()), numbers(kWords * drawn.size());
      for (size_t i = 0; i < drawn.size(); ++i) {
        ids[i] = drawn[i].id;
        std::memcpy(&numbers[kWords * i], &drawn[i].number, sizeof(drawn[i].number));
      }
      lists[kDrawnIds * types + t] = {ids, ranks_};
      lists[kNumbers * types + t] = {numbers, ranks_};
    }
    stage_ = Stage::kDrawn;
    return message_of<Id>(lists.size(), ranks_, pool_,
                          [&](size_t list) { return lists[list].values(); });
  }

  // The smallest numbers of all ranks.
  void take_drawn(const Message& from_ranks) {
    const size_t types = names_.size();
    const MessageReader<Id> from(from_ranks, ranks_, kListsOfDrawn * types);
    for (size_t t = 0; t < types; ++t) {
      std::vector<FromRank> all;
      for (const DrawnNode<Id>& drawn : drawn_[t])
        all.push_back({drawn, rank_});
      for (size_t rank = 0; rank < ranks_; ++rank) {
        if (rank == rank_) continue;
        const auto ids = from.values(kDrawnIds * types + t, rank);
        const auto words = from.values(kNumbers * types + t, rank);
        const auto numbers = numbers_of<double>(words, ids.size(), rank);
        for (size_t i = 0; i < ids.size(); ++i) {
          check_node(ids[i], t, rank);
          if (!std::isfinite(numbers[i]))
            throw_error(ErrorCode::kCorrupt, "rank ", rank, " drew ", numbers[i], " for node ",
                        ids[i], ", expected a finite number");
          all.push_back({{numbers[i], ids[i]}, rank});
        }
      }
      append(t, all);
    }
    hops_.end_hop();
  }

  void append(size_t type, std::vector<FromRank>& all) {
    const auto end = all.begin() + std::min(std::ssize(all), hops_.budget(type));
    std::partial_sort(all.begin(), end, all.end());
    Candidates<Id>& nodes = hops_.nodes()[type];
    std::vector<Id> added;
    for (auto one = all.begin(); one != end; ++one) {
      if (one->rank != rank_) {
        nodes.append_foreign(one->drawn.id);
        continue;
      }
      nodes.append(one->drawn.id);
      added.push_back(one->drawn.id);
    }
    own_[type].reserve_more(added.size());
    std::vector<int32_t> position(added.size());
    request_and_relabel(own_[type], std::span<const Id>(added), position.data());
  }

  // Numbers the sources of all edges: first this rank's nodes, then those of the others.
  Message ask_for_sources() {
    const size_t types = names_.size();
    std::vector<Block> blocks;
    for (size_t hop = 0; hop <= hops_.num_hops(); ++hop)
      blocks.push_back(hops_.edges(hop));
    std::vector<std::vector<int32_t>> number(types);  // of each foreign node among the asked ones
    std::vector<std::vector<Id>> asked(types);
    for (size_t t = 0; t < types; ++t)
      number[t].assign(hops_.nodes()[t].foreign().size(), Candidates<Id>::kNowhere);
    for_each_foreign(blocks, [&](size_t t, size_t foreign, int32_t&) {
      int32_t& of_node = number[t][foreign];
      if (of_node != Candidates<Id>::kNowhere) return;
      of_node = static_cast<int32_t>(asked[t].size());
      asked[t].push_back(hops_.nodes()[t].foreign()[foreign]);
    });
    for (size_t t = 0; t < types; ++t) {
      if (own_[t].size() + std::ssize(asked[t]) > std::numeric_limits<int32_t>::max())
        throw_too_many_nodes();
      routes_[t].build(asked[t], names_[t], membership_.owners[t], pool_);
    }
    for_each_foreign(blocks, [&](size_t t, size_t foreign, int32_t& source) {
      const auto position = routes_[t].positions()[static_cast<size_t>(number[t][foreign])];
      source = static_cast<int32_t>(own_[t].size()) + position;
    });
    for (Block& block : blocks)
      driver_.add(std::move(block));
    stage_ = Stage::kSources;
    return message_of<Id>(types, ranks_, pool_, [&](size_t t) {
      return Values<Id>{routes_[t].counts(), routes_[t].nodes()};
    });
  }

  template <typename Body>
  void for_each_foreign(const std::vector<Block>& blocks, Body&& body) const {
    for (const Block& block : blocks) {
      for (const Relation& relation : block.relations) {
        const auto edge_type = static_cast<size_t>(relation.edge_type);
        const auto src = static_cast<size_t>(graph_.edge_types()[edge_type].src);
        auto* const sources = static_cast<int32_t*>(relation.indices.data);
        for (int64_t e = 0; e < relation.indices.rows(); ++e) {
          if (sources[e] < 0)
            body(src, static_cast<size_t>(Candidates<Id>::kNowhere - 1 - sources[e]), sources[e]);
        }
      }
    }
  }

  void take_requests(const Message& from_ranks) {
    const MessageReader<Id> from(from_ranks, ranks_, names_.size());
    for (size_t t = 0; t < names_.size(); ++t) {
      const int64_t num_own = own_[t].size();
      requests_[t].insert(from, t, ranks_, names_[t], own_[t], pool_);
      if (own_[t].size() > num_own) throw_not_in_batch(t, num_own);
    }
  }

  [[noreturn]] void throw_not_in_batch(size_t type, int64_t num_own) const {
    size_t rank = 0;
    const auto positions = requests_[type].positions();
    const auto first = std::find_if(positions.begin(), positions.end(),
                                    [&](int32_t position) { return position >= num_own; });
    for (int64_t left = first - positions.begin(); left >= requests_[type].counts()[rank]; ++rank)
      left -= requests_[type].counts()[rank];
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " asked for node ",
                own_[type].ids()[static_cast<size_t>(num_own)], ", which is not in the batch");
  }

  void check_node(Id id, size_t type, size_t rank) const {
    const int64_t num_nodes = graph_.node_types()[type].num_nodes;
    if (static_cast<uint64_t>(id) < static_cast<uint64_t>(num_nodes)) return;
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent node ", id, ", outside [0, ", num_nodes,
                ")");
  }

  const Membership& membership_;
  const size_t rank_, ranks_;
  const std::vector<AskedNodes>& names_;
  const Graph& graph_;
  BufferPool& pool_;
  HopDriver& driver_;
  NodeIndexes<Id>& own_;
  std::vector<Routes<Id>>& routes_;         // of what this rank sends to owners
  std::vector<IncomingIds<Id>>& requests_;  // of what it is asked for

  Stage stage_ = Stage::kShares;
  BudgetHops<Id> hops_;
  CandidatesByType<Id> shares_;                    // of a hop, whoever owns the sources
  std::vector<std::vector<DrawnNode<Id>>> drawn_;  // of this rank, by node type
};

}  // namespace ramet
