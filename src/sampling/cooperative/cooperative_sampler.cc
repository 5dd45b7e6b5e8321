// A hop has one exchange: the sources that a rank found go to their owners, in the order of the
// ranks and, of one rank, of their first edge. The owner gives each a position among its own nodes,
// which is both the next hop's destination and the row to send back when the layer runs. LABOR-i
// has exchanges before that: candidates go to their owners once, and in every iteration the largest
// c of each goes there and the largest over all ranks comes back.
//
// A layer's source rows are stored by rank, so what arrives in the layer's exchange lies where it
// is used and nothing is moved twice: local ids are renumbered once here instead.
#include "sampling/cooperative_sampler.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/draw_keys.h"
#include "base/parallel.h"
#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "exchange/routes.h"
#include "ramet/error.h"
#include "sampling/hop_sampler.h"

namespace ramet {
namespace {

[[noreturn]] void invalid(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument, what);
}

}  // namespace

void check(const Membership& membership, const Graph& graph) {
  const auto& types = graph.node_types();
  if (membership.owners.size() != types.size())
    invalid("ownership of " + std::to_string(membership.owners.size()) +
            " node types, but there are " + std::to_string(types.size()));
  for (size_t t = 0; t < types.size(); ++t) {
    const Ownership& owners = membership.owners[t];
    if (owners.num_nodes() != types[t].num_nodes)
      invalid("ownership of " + std::to_string(owners.num_nodes()) + " nodes, but node type '" +
              types[t].name + "' has " + std::to_string(types[t].num_nodes));
    if (owners.parts() != membership.ranks())
      invalid("ownership by " + std::to_string(owners.parts()) + " ranks of node type '" +
              types[t].name + "', but by " + std::to_string(membership.ranks()) + " of '" +
              types[0].name + "'");
  }
  if (membership.rank < 0 || membership.rank >= membership.ranks())
    invalid("rank is " + std::to_string(membership.rank) + ", expected 0 to " +
            std::to_string(membership.ranks() - 1));
}

class CooperativeSampler::Engine {
 public:
  virtual ~Engine() = default;
  virtual std::optional<Message> start(size_t seed_type,
                                       std::span<const int64_t> seeds,
                                       const DrawKeys& step_keys) = 0;
  virtual std::optional<Message> receive(const Message& from_ranks) = 0;
  virtual Minibatch take() = 0;
};

template <typename Id>
class CooperativeSampler::EngineFor final : public CooperativeSampler::Engine {
 public:
  EngineFor(HopOptions options, Membership membership)
      : membership_(std::move(membership)),
        ranks_(static_cast<size_t>(membership_.ranks())),
        hop_sampler_(std::move(options), scratch_) {
    const size_t types = graph().node_types().size();
    prepare(layer_, graph());
    prepare_own(own_);
    if (hop_sampler_.has_importance()) prepare_own(own_candidates_);
    routes_.resize(types);
    requests_.resize(types);
    largest_c_.resize(types);
    replies_.resize(types);
  }

  std::optional<Message> start(size_t seed_type,
                               std::span<const int64_t> seeds,
                               const DrawKeys& step_keys) override {
    stage_ = Stage::kIdle;
    seeds_.assign(seeds.begin(), seeds.end());
    check_seeds(seeds_, graph(), seed_type);
    check_owned(seed_type);
    for (size_t t = 0; t < own_.size(); ++t)
      own_[t].start_batch(
          std::span<const int64_t>(seeds_).first(t == seed_type ? seeds.size() : 0));
    batch_ = {};
    batch_.seed_type = static_cast<int>(seed_type);
    batch_.num_seeds = static_cast<int64_t>(seeds.size());
    step_keys_ = step_keys;
    hop_ = 0;
    return next_hop();
  }

  std::optional<Message> receive(const Message& from_ranks) override {
    // What is thrown on the way leaves nothing to go on with.
    switch (std::exchange(stage_, Stage::kIdle)) {
      case Stage::kIdle:
      case Stage::kComplete:
        invalid("no minibatch is being sampled: call start() first");
      case Stage::kCandidates:
        return enter_candidates(from_ranks);
      case Stage::kRaise:
        return merge_largest_c(from_ranks);
      case Stage::kSettle:
        return settle(from_ranks);
      case Stage::kSources:
        return finish_hop(from_ranks);
    }
    return std::nullopt;
  }

  Minibatch take() override {
    if (std::exchange(stage_, Stage::kIdle) != Stage::kComplete)
      invalid("no minibatch is complete: call start(), and receive() until it returns nothing");
    return std::exchange(batch_, {});
  }

 private:
  // Which exchange comes in next, if any.
  enum class Stage : uint8_t { kIdle, kCandidates, kRaise, kSettle, kSources, kComplete };

  [[nodiscard]] const Graph& graph() const { return *hop_sampler_.options().graph; }
  [[nodiscard]] BufferPool& pool() const { return *hop_sampler_.options().pool; }

  [[nodiscard]] NodeRange own_span(size_t type) const {
    return membership_.owners[type].span_of(membership_.rank);
  }

  void prepare_own(NodeIndexes<Id>& nodes) const {
    std::vector<NodeRange> ranges;
    for (size_t t = 0; t < graph().node_types().size(); ++t)
      ranges.push_back(own_span(t));
    prepare(nodes, graph(), ranges);
  }

  void check_owned(size_t seed_type) const {
    const auto owners = membership_.owners[seed_type].owners(seeds_);
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] == membership_.rank) continue;
      invalid("seeds[" + std::to_string(i) + "] = " + std::to_string(seeds_[i]) +
              " belongs to rank " + std::to_string(owners[i]) + ", not to " +
              std::to_string(membership_.rank));
    }
  }

  template <typename T, typename Get>
  Message send(Stage stage, Get&& values_of_type) {
    std::vector<Values<T>> types;
    for (size_t t = 0; t < own_.size(); ++t)
      types.push_back(values_of_type(t));
    Message message = write_message<T>(types, ranks_, pool());
    stage_ = stage;
    return message;
  }

  std::optional<Message> next_hop() {
    if (hop_ == hop_sampler_.num_hops()) return finish();
    block_ = {};
    block_.num_dst = sizes(own_);
    for (size_t t = 0; t < own_.size(); ++t)
      layer_[t].start_batch(own_[t].ids());
    return hop_sampler_.has_importance() ? send_candidates() : sample_sources();
  }

  Message sample_sources() {
    block_.relations = hop_sampler_.sample(layer_, block_.num_dst, step_keys_, hop_);
    for (size_t t = 0; t < own_.size(); ++t)
      routes_[t].build(layer_[t].ids().subspan(static_cast<size_t>(block_.num_dst[t])),
                       membership_.owners[t], pool());
    if (ranks_ > 1) {
      for (Relation& relation : block_.relations)
        renumber(relation);
    }
    return send<Id>(Stage::kSources,
                    [&](size_t t) { return Values<Id>{routes_[t].counts(), routes_[t].ids()}; });
  }

  // From the order in which sources were found to that of their owners.
  void renumber(Relation& relation) const {
    const EdgeType& edges = graph().edge_types()[static_cast<size_t>(relation.edge_type)];
    const auto src = static_cast<size_t>(edges.src);
    const int32_t* place = routes_[src].place().data();
    if (routes_[src].place().empty()) return;
    const auto num_dst = static_cast<int32_t>(block_.num_dst[src]);
    auto* local = static_cast<int32_t*>(relation.indices.data);
    constexpr int64_t kGrain = 1 << 16;
    parallel_for(relation.indices.rows(), kGrain, hop_sampler_.options().threads,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t e = begin; e < end; ++e) {
                     // Not a branch: whether a source is a destination is as good as random.
                     const int32_t found = local[e] - num_dst;
                     const int32_t renumbered = num_dst + place[std::max(found, 0)];
                     local[e] = found < 0 ? local[e] : renumbered;
                   }
                 });
  }

  std::optional<Message> finish_hop(const Message& from_ranks) {
    const MessageReader<Id> from(from_ranks, ranks_, own_.size());
    for (size_t t = 0; t < own_.size(); ++t) {
      requests_[t].enter(from, t, ranks_, own_span(t), own_[t], pool());
      block_.exchange.push_back(plan(t));
    }
    block_.num_src = sizes(layer_);
    batch_.blocks.push_back(std::move(block_));
    ++hop_;
    return next_hop();
  }

  ExchangePlan plan(size_t type) {
    const auto counts = routes_[type].counts();
    return {.num_owned = own_[type].size(),
            .send_rows = requests_[type].take_positions(),
            .send_counts = requests_[type].counts(),
            .receive_counts = {counts.begin(), counts.end()},
            .source_ids = routes_[type].take_ids()};
  }

  std::nullopt_t finish() {
    std::reverse(batch_.blocks.begin(), batch_.blocks.end());
    for (const auto& nodes : own_)
      batch_.n_id.push_back(to_int64(nodes.ids(), pool()));
    stage_ = Stage::kComplete;
    return std::nullopt;
  }

  // LABOR-i.

  Message send_candidates() {
    importance_ = &hop_sampler_.weigh_candidates(layer_, block_.num_dst, hop_);
    importance_->begin();
    iteration_ = 0;
    for (size_t t = 0; t < own_.size(); ++t)
      routes_[t].build(importance_->ids(t), membership_.owners[t], pool());
    return send<Id>(Stage::kCandidates,
                    [&](size_t t) { return Values<Id>{routes_[t].counts(), routes_[t].ids()}; });
  }

  Message enter_candidates(const Message& from_ranks) {
    const MessageReader<Id> from(from_ranks, ranks_, own_.size());
    for (size_t t = 0; t < own_.size(); ++t) {
      own_candidates_[t].start_batch(std::span<const Id>());
      requests_[t].enter(from, t, ranks_, own_span(t), own_candidates_[t], pool());
    }
    return raise();
  }

  // The largest c among this rank's destinations, for the owner of each candidate.
  Message raise() {
    importance_->raise();
    for (size_t t = 0; t < own_.size(); ++t) {
      const auto candidates = importance_->candidates(t);
      const auto place = routes_[t].place();
      replies_[t].resize(candidates.size());
      for (size_t i = 0; i < candidates.size(); ++i)
        replies_[t][static_cast<size_t>(place[i])] = candidates[i].largest_c;
    }
    return send<double>(Stage::kRaise,
                        [&](size_t t) { return Values<double>{routes_[t].counts(), replies_[t]}; });
  }

  // The largest over all ranks, back to those who asked.
  Message merge_largest_c(const Message& from_ranks) {
    const MessageReader<double> from(from_ranks, ranks_, own_.size());
    for (size_t t = 0; t < own_.size(); ++t) {
      const auto positions = requests_[t].positions();
      largest_c_[t].assign(static_cast<size_t>(own_candidates_[t].size()), 0);
      size_t at = 0;
      for (size_t rank = 0; rank < ranks_; ++rank) {
        const auto values = from.values(t, rank);
        require_count(values.size(), requests_[t].counts()[rank], rank);
        for (const double c : values) {
          const auto candidate = static_cast<size_t>(positions[at++]);
          require_c(c, 0, own_candidates_[t].ids()[candidate], rank);
          largest_c_[t][candidate] = std::max(largest_c_[t][candidate], c);
        }
      }
      replies_[t].resize(positions.size());
      for (size_t i = 0; i < positions.size(); ++i)
        replies_[t][i] = largest_c_[t][static_cast<size_t>(positions[i])];
    }
    return send<double>(Stage::kSettle, [&](size_t t) {
      return Values<double>{requests_[t].counts(), replies_[t]};
    });
  }

  Message settle(const Message& from_ranks) {
    const MessageReader<double> from(from_ranks, ranks_, own_.size());
    for (size_t t = 0; t < own_.size(); ++t) {
      replies_[t].clear();
      for (size_t rank = 0; rank < ranks_; ++rank) {
        const auto values = from.values(t, rank);
        require_count(values.size(), routes_[t].counts()[rank], rank);
        replies_[t].insert(replies_[t].end(), values.begin(), values.end());
      }
      const auto candidates = importance_->candidates(t);
      const auto place = routes_[t].place();
      for (size_t i = 0; i < candidates.size(); ++i) {
        const double c = replies_[t][static_cast<size_t>(place[i])];
        const int64_t node = importance_->ids(t)[i];
        const auto owner = static_cast<size_t>(membership_.owners[t].owner(node));
        require_c(c, candidates[i].largest_c, node, owner);
        candidates[i].largest_c = c;
      }
    }
    importance_->settle();
    if (++iteration_ < hop_sampler_.options().sample.importance_iterations) return raise();
    return sample_sources();
  }

  static void require_count(size_t count, int64_t expected, size_t rank) {
    if (static_cast<int64_t>(count) == expected) return;
    throw Error(ErrorCode::kCorrupt, "rank " + std::to_string(rank) + " sent " +
                                         std::to_string(count) + " values, expected " +
                                         std::to_string(expected));
  }

  static void require_c(double c, double least, int64_t node, size_t rank) {
    if (c >= least && std::isfinite(c)) return;
    throw Error(ErrorCode::kCorrupt,
                "rank " + std::to_string(rank) + " sent c = " + std::to_string(c) + " of node " +
                    std::to_string(node) + ", expected at least " + std::to_string(least));
  }

  const Membership membership_;
  const size_t ranks_;
  HopScratch<Id> scratch_;
  HopSampler<Id> hop_sampler_;
  NodeIndexes<Id> own_;             // the batch's nodes of this rank
  NodeIndexes<Id> layer_;           // the hop's sources, whoever owns them; destinations first
  std::vector<Routes<Id>> routes_;  // of what this rank asks for, by node type
  std::vector<IncomingIds<Id>> requests_;  // of what it is asked for

  Stage stage_ = Stage::kIdle;
  DrawKeys step_keys_{};
  int hop_ = 0;
  std::vector<int64_t> seeds_;
  Block block_;  // of the hop
  Minibatch batch_;

  HopImportance<Id>* importance_ = nullptr;
  int64_t iteration_ = 0;
  NodeIndexes<Id> own_candidates_;
  std::vector<std::vector<double>> largest_c_;  // by candidate of this rank
  std::vector<std::vector<double>> replies_;    // by candidate, in the order of a message
};

CooperativeSampler::CooperativeSampler(const std::shared_ptr<const Graph>& graph,
                                       SampleOptions options,
                                       Membership membership,
                                       std::shared_ptr<BufferPool> pool,
                                       int threads)
    : seed_(options.seed), dependent_(static_cast<uint64_t>(options.dependent)) {
  check(options, *graph);
  check(membership, *graph);
  HopOptions all{graph, std::move(options), pool ? std::move(pool) : BufferPool::shared(), threads};
  if (has_narrow_ids(*graph)) {
    engine_ = std::make_unique<EngineFor<int32_t>>(std::move(all), std::move(membership));
  } else {
    engine_ = std::make_unique<EngineFor<int64_t>>(std::move(all), std::move(membership));
  }
}

CooperativeSampler::~CooperativeSampler() = default;

std::optional<Message> CooperativeSampler::start(int seed_type,
                                                 std::span<const int64_t> seeds,
                                                 uint64_t epoch,
                                                 uint64_t step) {
  return engine_->start(static_cast<size_t>(seed_type), seeds,
                        step_keys(seed_, epoch, step, dependent_));
}

std::optional<Message> CooperativeSampler::receive(const Message& from_ranks) {
  return engine_->receive(from_ranks);
}

Minibatch CooperativeSampler::take() {
  return engine_->take();
}

}  // namespace ramet
