// MergedSources: with Expand::kOnce, the sources of all hops of a minibatch, one node type. Each is
// asked for once, in the hop that found it. Those of this rank become positions among its nodes.
// The others follow these, by owner, and of one owner in the order in which they were asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "exchange/asked_nodes.h"
#include "exchange/incoming_ids.h"
#include "exchange/routes.h"
#include "ramet/buffer_pool.h"
#include "ramet/exchange.h"
#include "sampling/node_index.h"
#include "sampling/relation_builder.h"

namespace ramet {

template <typename Id>
class MergedSources {
 public:
  void start_batch(NodeIndex<Id>& index, size_t ranks) {
    index_ = &index;
    index.start_batch(std::span<const Id>());
    asked_.assign(ranks, {});
    sent_.assign(ranks, {});
    is_cut_.clear();
  }

  // The sources of a hop that were not among this rank's nodes. Returns those that no hop before
  // found.
  std::span<const Id> add(std::span<const Id> found) {
    num_before_ = static_cast<size_t>(index_->size());
    numbers_.resize(found.size());
    index_->reserve_more(found.size());
    request_and_relabel(*index_, found, numbers_.data());
    return index_->ids().subspan(num_before_);
  }
  // The number of each of them.
  [[nodiscard]] std::span<const int32_t> numbers() const { return numbers_; }
  // Leaves the values of those that add() returned.
  template <typename T>
  void keep_new(std::vector<T>& of_found) const {
    size_t size = 0;
    for (size_t i = 0; i < of_found.size(); ++i) {
      if (static_cast<size_t>(numbers_[i]) >= num_before_) of_found[size++] = of_found[i];
    }
    of_found.resize(size);
  }

  // Of those that add() returned, these keys, in ascending order, are not in the batch.
  void cut(std::span<const Id> keys) {
    is_cut_.resize(static_cast<size_t>(index_->size()));
    for (size_t number = num_before_; number < is_cut_.size(); ++number)
      is_cut_[number] = std::binary_search(keys.begin(), keys.end(), index_->ids()[number]);
  }
  [[nodiscard]] bool is_cut(int32_t number) const {
    const auto at = static_cast<size_t>(number);
    return at < is_cut_.size() && is_cut_[at];
  }

  // What add() returned was sent by `routes`; `requests` are those of other ranks, with a position
  // below 0 where they are not in the batch.
  void exchange(const Routes<Id>& routes, const IncomingIds<Id>& requests) {
    auto number = static_cast<int32_t>(num_before_);
    for (const uint16_t owner : routes.owners()) {
      if (!is_cut(number)) asked_[owner].push_back(number);
      ++number;
    }
    const int32_t* position = requests.positions().data();
    for (size_t rank = 0; rank < sent_.size(); ++rank) {
      const int64_t count = requests.counts()[rank];
      std::copy_if(position, position + count, std::back_inserter(sent_[rank]),
                   [](int32_t at) { return at >= 0; });
      position += count;
    }
  }

  // After the last hop, of a rank that has `num_owned` nodes: the plan of all sources.
  ExchangePlan finish(size_t own_rank,
                      int64_t num_owned,
                      const AskedNodes& names,
                      BufferPool& pool) {
    if (num_owned + index_->size() > std::numeric_limits<int32_t>::max()) throw_too_many_nodes();
    if (sent_[own_rank].size() != asked_[own_rank].size())
      throw_error(ErrorCode::kCorrupt, "rank ", own_rank, " asked itself for ",
                  asked_[own_rank].size(), " nodes, and got ", sent_[own_rank].size());
    ExchangePlan plan;
    plan.num_owned = num_owned;
    std::vector<int32_t> send_rows;
    std::vector<Id> ids;
    positions_.resize(static_cast<size_t>(index_->size()));
    auto next = static_cast<int32_t>(num_owned);
    for (size_t rank = 0; rank < asked_.size(); ++rank) {
      const bool is_own = rank == own_rank;
      for (size_t i = 0; i < asked_[rank].size(); ++i) {
        const auto number = static_cast<size_t>(asked_[rank][i]);
        positions_[number] = is_own ? sent_[rank][i] : next++;
        if (!is_own) ids.push_back(static_cast<Id>(names.id(index_->ids()[number])));
      }
      if (is_own) sent_[rank].clear();
      send_rows.insert(send_rows.end(), sent_[rank].begin(), sent_[rank].end());
      plan.send_counts.push_back(std::ssize(sent_[rank]));
      plan.receive_counts.push_back(is_own ? 0 : std::ssize(asked_[rank]));
    }
    plan.send_rows = copy(borrow(send_rows), pool);
    plan.source_ids = copy(borrow(ids), pool);
    return plan;
  }
  // Then, by number: the position among the sources.
  [[nodiscard]] std::span<const int32_t> positions() const { return positions_; }

 private:
  NodeIndex<Id>* index_ = nullptr;
  size_t num_before_ = 0;
  std::vector<int32_t> numbers_;
  std::vector<int32_t> positions_;  // by number
  // By rank: numbers of the nodes that it was asked for, and positions of those that it asked for.
  std::vector<std::vector<int32_t>> asked_, sent_;
  std::vector<bool> is_cut_;  // by number; may be shorter
};

}  // namespace ramet
