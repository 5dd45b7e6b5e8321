// ImportanceExchange: LABOR-i's importances where ranks cooperate; docs/semantics.md, section 10.
// Candidates go to their owners once. In every iteration the largest c of each candidate goes to
// its owner, and the largest over all ranks comes back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "exchange/routes.h"
#include "frontier.h"
#include "ramet/error.h"
#include "sampling/hop_sampler.h"

namespace ramet {

template <typename Id>
class ImportanceExchange {
 public:
  // By node type: `names`, and `routes` and `requests`, which are scratch memory, free between
  // hops. What is given by reference must outlive it.
  ImportanceExchange(const Membership& membership,
                     const std::vector<AskedNodes>& names,
                     Frontier<Id>& frontier,
                     const HopOptions& options,
                     std::vector<Routes<Id>>& routes,
                     std::vector<IncomingIds<Id>>& requests)
      : membership_(membership),
        names_(names),
        frontier_(frontier),
        iterations_(iterations_of(options.sample.method)),
        ranks_(static_cast<size_t>(membership.ranks())),
        routes_(routes),
        requests_(requests),
        pool_(*options.pool),
        own_candidates_(names_.size()),
        largest_c_(names_.size()),
        replies_(names_.size()) {}

  [[nodiscard]] NodeIndexes<Id>& own_candidates() { return own_candidates_; }  // to be prepared

  // The first message of a hop, whose candidates the frontier has.
  Message start() {
    iteration_ = 0;
    for (size_t t = 0; t < names_.size(); ++t)
      routes_[t].build(frontier_.candidates(t), names_[t], membership_.owners[t], pool_);
    return send<Id>(Stage::kCandidates,
                    [&](size_t t) { return Values<Id>{routes_[t].counts(), routes_[t].nodes()}; });
  }

  // The next message, or nullopt when the importances are complete.
  std::optional<Message> receive(const Message& from_ranks) {
    switch (stage_) {
      case Stage::kCandidates:
        insert_candidates(from_ranks);
        return send_largest_c();
      case Stage::kMaxReduce:
        return max_reduce(from_ranks);
      case Stage::kUpdate:
        update(from_ranks);
        if (++iteration_ < iterations_) return send_largest_c();
    }
    return std::nullopt;
  }

 private:
  // What comes in next.
  enum class Stage : uint8_t { kCandidates, kMaxReduce, kUpdate };

  static int64_t iterations_of(const Method& method) {
    const auto* labor = std::get_if<Labor>(&method);
    return labor == nullptr ? 0 : labor->iterations;
  }

  template <typename T, typename ValuesOf>
  Message send(Stage stage, ValuesOf&& values_of) {
    Message message = message_of<T>(names_.size(), ranks_, pool_, values_of);
    stage_ = stage;
    return message;
  }

  void insert_candidates(const Message& from_ranks) {
    const MessageReader<Id> from(from_ranks, ranks_, names_.size());
    for (size_t t = 0; t < names_.size(); ++t) {
      own_candidates_[t].start_batch(std::span<const Id>());
      requests_[t].insert(from, t, ranks_, names_[t], own_candidates_[t], pool_);
    }
  }

  // The largest c among this rank's destinations, for the owner of each candidate.
  Message send_largest_c() {
    frontier_.max_reduce();
    for (size_t t = 0; t < names_.size(); ++t) {
      const auto largest_c = frontier_.largest_c(t);
      const auto position = routes_[t].positions();
      replies_[t].resize(largest_c.size());
      for (size_t i = 0; i < largest_c.size(); ++i)
        replies_[t][static_cast<size_t>(position[i])] = largest_c[i];
    }
    return send<double>(Stage::kMaxReduce,
                        [&](size_t t) { return Values<double>{routes_[t].counts(), replies_[t]}; });
  }

  // The largest over all ranks, back to those who asked.
  Message max_reduce(const Message& from_ranks) {
    const MessageReader<double> from(from_ranks, ranks_, names_.size());
    for (size_t t = 0; t < names_.size(); ++t) {
      const auto positions = requests_[t].positions();
      largest_c_[t].assign(static_cast<size_t>(own_candidates_[t].size()), 0);
      size_t at = 0;
      for (size_t rank = 0; rank < ranks_; ++rank) {
        const auto values = from.values(t, rank);
        require_count(values.size(), requests_[t].counts()[rank], rank);
        for (const double c : values) {
          const auto candidate = static_cast<size_t>(positions[at++]);
          require_c(c, 0, names_[t].id(own_candidates_[t].ids()[candidate]), rank);
          largest_c_[t][candidate] = std::max(largest_c_[t][candidate], c);
        }
      }
      replies_[t].resize(positions.size());
      for (size_t i = 0; i < positions.size(); ++i)
        replies_[t][i] = largest_c_[t][static_cast<size_t>(positions[i])];
    }
    return send<double>(Stage::kUpdate, [&](size_t t) {
      return Values<double>{requests_[t].counts(), replies_[t]};
    });
  }

  void update(const Message& from_ranks) {
    const MessageReader<double> from(from_ranks, ranks_, names_.size());
    for (size_t t = 0; t < names_.size(); ++t) {
      replies_[t].clear();
      for (size_t rank = 0; rank < ranks_; ++rank) {
        const auto values = from.values(t, rank);
        require_count(values.size(), routes_[t].counts()[rank], rank);
        replies_[t].insert(replies_[t].end(), values.begin(), values.end());
      }
      const auto largest_c = frontier_.largest_c(t);
      const auto position = routes_[t].positions();
      for (size_t i = 0; i < largest_c.size(); ++i) {
        const double c = replies_[t][static_cast<size_t>(position[i])];
        const int64_t node = names_[t].id(frontier_.candidates(t)[i]);
        const auto owner = static_cast<size_t>(membership_.owners[t].owner(node));
        require_c(c, largest_c[i], node, owner);
        largest_c[i] = c;
      }
    }
    frontier_.update();
  }

  static void require_count(size_t count, int64_t expected, size_t rank) {
    if (static_cast<int64_t>(count) == expected) return;
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent ", count, " values, expected ",
                expected);
  }

  static void require_c(double c, double least, int64_t node, size_t rank) {
    if (c >= least && std::isfinite(c)) return;
    throw_error(ErrorCode::kCorrupt, "rank ", rank, " sent c = ", c, " of node ", node,
                ", expected at least ", least);
  }

  const Membership& membership_;
  const std::vector<AskedNodes>& names_;
  Frontier<Id>& frontier_;
  const int64_t iterations_;
  const size_t ranks_;
  std::vector<Routes<Id>>& routes_;         // of what this rank asks for, by node type
  std::vector<IncomingIds<Id>>& requests_;  // of what it is asked for
  BufferPool& pool_;

  Stage stage_ = Stage::kCandidates;
  int64_t iteration_ = 0;
  NodeIndexes<Id> own_candidates_;
  std::vector<std::vector<double>> largest_c_;  // by candidate of this rank
  std::vector<std::vector<double>> replies_;    // by candidate, in the order of a message
};

}  // namespace ramet
