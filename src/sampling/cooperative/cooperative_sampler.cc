// A hop has one exchange: the sources that a rank found go to their owners, in the order of the
// ranks and, of one rank, of their first edge. The owner gives each a position among its own nodes,
// which is both the next hop's destination and the row to send back when the layer runs. LABOR-i
// has exchanges before that (cooperative_importance.h). Seeds that others own go to their owners in
// the same way, before the first hop.
//
// A layer's source rows are stored by rank, so what arrives in the layer's exchange lies where it
// is used and nothing is moved twice: local ids are renumbered once here instead.
#include "sampling/cooperative_sampler.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/draw_keys.h"
#include "base/parallel.h"
#include "cooperative_importance.h"
#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "exchange/routes.h"
#include "ramet/error.h"
#include "sampling/hop_driver.h"
#include "sampling/hop_sampler.h"

namespace ramet {

void check(const Membership& membership, const Graph& graph) {
  const auto& types = graph.node_types();
  if (membership.owners.size() != types.size())
    throw_invalid("ownership of ", membership.owners.size(), " node types, but there are ",
                  types.size());
  for (size_t t = 0; t < types.size(); ++t) {
    const Ownership& owners = membership.owners[t];
    if (owners.num_nodes() != types[t].num_nodes)
      throw_invalid("ownership of ", owners.num_nodes(), " nodes, but node type '", types[t].name,
                    "' has ", types[t].num_nodes);
    if (owners.parts() != membership.ranks())
      throw_invalid("ownership by ", owners.parts(), " ranks of node type '", types[t].name,
                    "', but by ", membership.ranks(), " of '", types[0].name, "'");
  }
  if (membership.rank < 0 || membership.rank >= membership.ranks())
    throw_invalid("rank is ", membership.rank, ", expected 0 to ", membership.ranks() - 1);
}

class CooperativeSampler::Engine {
 public:
  virtual ~Engine() = default;
  virtual std::optional<Message> start(std::span<const Seeds> seeds,
                                       uint64_t epoch,
                                       uint64_t step,
                                       std::span<const ExcludedEdges> excluded) = 0;
  virtual Message ask(std::span<const Seeds> seeds,
                      uint64_t epoch,
                      uint64_t step,
                      std::span<const ExcludedEdges> excluded) = 0;
  [[nodiscard]] virtual std::span<const int32_t> places_of_seeds(int type) const = 0;
  virtual std::optional<Message> receive(const Message& from_ranks) = 0;
  virtual Minibatch take() = 0;
};

template <typename Id>
class CooperativeSampler::EngineFor final : public CooperativeSampler::Engine {
 public:
  EngineFor(HopOptions options, Membership membership)
      : membership_(std::move(membership)),
        ranks_(static_cast<size_t>(membership_.ranks())),
        driver_(options.graph, options.sample),
        hop_sampler_(std::move(options), scratch_),
        own_spans_(spans_of(membership_)),
        routes_(own_spans_.size()),
        requests_(own_spans_.size()),
        importance_(membership_, own_spans_, routes_, requests_, pool()) {
    prepare(layer_, graph());
    prepare(own_, graph(), own_spans_);
    if (hop_sampler_.has_importance()) importance_.prepare(graph());
  }

  std::optional<Message> start(std::span<const Seeds> seeds,
                               uint64_t epoch,
                               uint64_t step,
                               std::span<const ExcludedEdges> excluded) override {
    begin(seeds, epoch, step, excluded);
    for (size_t t = 0; t < own_.size(); ++t) {
      check_owned(t);
      own_[t].start_batch(driver_.seeds(t));
    }
    return next_hop();
  }

  Message ask(std::span<const Seeds> seeds,
              uint64_t epoch,
              uint64_t step,
              std::span<const ExcludedEdges> excluded) override {
    begin(seeds, epoch, step, excluded);
    for (size_t t = 0; t < own_.size(); ++t) {
      layer_[t].start_batch(driver_.seeds(t));
      own_[t].start_batch(std::span<const Id>());
    }
    Message message = ask_owners(std::vector<int64_t>(own_.size(), 0));
    stage_ = Stage::kSeeds;
    return message;
  }

  [[nodiscard]] std::span<const int32_t> places_of_seeds(int type) const override {
    return routes_[static_cast<size_t>(type)].place();
  }

  std::optional<Message> receive(const Message& from_ranks) override {
    // What is thrown on the way leaves nothing to go on with.
    switch (std::exchange(stage_, Stage::kIdle)) {
      case Stage::kIdle:
      case Stage::kComplete:
        throw_invalid("no minibatch is being sampled: call start() first");
      case Stage::kImportance:
        if (auto message = importance_.receive(from_ranks)) {
          stage_ = Stage::kImportance;
          return message;
        }
        return sample_sources();
      case Stage::kSeeds:
        take_seeds(from_ranks);
        return next_hop();
      case Stage::kSources:
        finish_hop(from_ranks);
        return next_hop();
    }
    return std::nullopt;
  }

  Minibatch take() override {
    if (std::exchange(stage_, Stage::kIdle) != Stage::kComplete)
      throw_invalid(
          "no minibatch is complete: call start(), and receive() until it returns nothing");
    std::vector<Array> n_id;
    for (const auto& nodes : own_)
      n_id.push_back(to_int64(nodes.ids(), pool()));
    Minibatch minibatch = driver_.finish(std::move(n_id));
    minibatch.seed_exchange = std::move(seed_exchange_);
    return minibatch;
  }

 private:
  // Which exchange comes in next, if any.
  enum class Stage : uint8_t { kIdle, kSeeds, kImportance, kSources, kComplete };

  [[nodiscard]] const Graph& graph() const { return *hop_sampler_.options().graph; }
  [[nodiscard]] BufferPool& pool() const { return *hop_sampler_.options().pool; }

  static std::vector<NodeRange> spans_of(const Membership& membership) {
    std::vector<NodeRange> spans;
    for (const Ownership& owners : membership.owners)
      spans.push_back(owners.span_of(membership.rank));
    return spans;
  }

  void begin(std::span<const Seeds> seeds,
             uint64_t epoch,
             uint64_t step,
             std::span<const ExcludedEdges> excluded) {
    stage_ = Stage::kIdle;
    seed_exchange_.clear();
    hop_sampler_.exclude(excluded);
    driver_.start(seeds, epoch, step);
  }

  // Begins with what ranks asked for.
  void take_seeds(const Message& from_ranks) {
    seed_exchange_ = receive_ids(from_ranks);
    std::vector<Array> ids;
    std::vector<Seeds> seeds;
    for (const SeedCount& asked : driver_.seed_counts()) {
      ids.push_back(to_int64(own_[static_cast<size_t>(asked.type)].ids(), pool()));
      seeds.push_back({.type = asked.type, .ids = ids.back().template as<int64_t>()});
    }
    driver_.set_seeds(seeds);
  }

  void check_owned(size_t seed_type) const {
    const auto seeds = driver_.seeds(seed_type);
    const auto owners = membership_.owners[seed_type].owners(seeds);
    for (size_t i = 0; i < owners.size(); ++i) {
      if (owners[i] == membership_.rank) continue;
      throw_invalid("seeds[", i, "] = ", seeds[i], " belongs to rank ", owners[i], ", not to ",
                    membership_.rank);
    }
  }

  std::optional<Message> next_hop() {
    if (driver_.is_done()) {
      stage_ = Stage::kComplete;
      return std::nullopt;
    }
    block_ = {};
    destinations_ = driver_.destinations(sizes(own_));
    set_destinations(block_, destinations_);
    for (size_t t = 0; t < own_.size(); ++t)
      layer_[t].start_batch(own_[t].ids());
    auto* importance = hop_sampler_.start_importance(layer_, destinations_, driver_.hop());
    if (importance == nullptr) return sample_sources();
    Message message = importance_.start(*importance);
    stage_ = Stage::kImportance;
    return message;
  }

  Message sample_sources() {
    block_.relations =
        hop_sampler_.sample(layer_, destinations_, driver_.step_keys(), driver_.hop());
    Message message = ask_owners(block_.num_dst);
    if (ranks_ > 1) {
      for (Relation& relation : block_.relations)
        renumber(relation);
    }
    stage_ = Stage::kSources;
    return message;
  }

  // The nodes of layer_ after the first `num_known` of each type, for their owners.
  Message ask_owners(const std::vector<int64_t>& num_known) {
    for (size_t t = 0; t < own_.size(); ++t)
      routes_[t].build(layer_[t].ids().subspan(static_cast<size_t>(num_known[t])),
                       membership_.owners[t], pool());
    return message_of<Id>(own_.size(), ranks_, pool(), [&](size_t t) {
      return Values<Id>{routes_[t].counts(), routes_[t].ids()};
    });
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

  // Appends the nodes that ranks ask for to own_.
  std::vector<ExchangePlan> receive_ids(const Message& from_ranks) {
    const MessageReader<Id> from(from_ranks, ranks_, own_.size());
    std::vector<ExchangePlan> plans;
    for (size_t t = 0; t < own_.size(); ++t) {
      requests_[t].insert(from, t, ranks_, own_spans_[t], own_[t], pool());
      plans.push_back(plan(t));
    }
    return plans;
  }

  void finish_hop(const Message& from_ranks) {
    block_.exchange = receive_ids(from_ranks);
    block_.num_src = sizes(layer_);
    driver_.add(std::move(block_));
  }

  ExchangePlan plan(size_t type) {
    const auto counts = routes_[type].counts();
    return {.num_owned = own_[type].size(),
            .send_rows = requests_[type].take_positions(),
            .send_counts = requests_[type].counts(),
            .receive_counts = {counts.begin(), counts.end()},
            .source_ids = routes_[type].take_ids()};
  }

  const Membership membership_;
  const size_t ranks_;
  HopScratch<Id> scratch_;
  HopDriver driver_;
  HopSampler<Id> hop_sampler_;
  const std::vector<NodeRange> own_spans_;  // by node type, where all lies that this rank owns
  NodeIndexes<Id> own_;                     // the batch's nodes of this rank
  NodeIndexes<Id> layer_;           // the hop's sources, whoever owns them; destinations first
  std::vector<Routes<Id>> routes_;  // of what this rank asks for, by node type
  std::vector<IncomingIds<Id>> requests_;  // of what it is asked for
  ImportanceExchange<Id> importance_;      // of LABOR-i

  Stage stage_ = Stage::kIdle;
  Block block_;  // of the hop
  std::vector<ListRange> destinations_;
  std::vector<ExchangePlan> seed_exchange_;
};

CooperativeSampler::CooperativeSampler(const std::shared_ptr<const Graph>& graph,
                                       SampleOptions options,
                                       Membership membership,
                                       std::shared_ptr<BufferPool> pool,
                                       int threads) {
  check(options, *graph);
  check(membership, *graph);
  if (options.expand == Expand::kOnce || options.disjoint || options.time)
    throw_invalid("ranks that cooperate sample with expand = 'every', not disjoint, without time");
  HopOptions all{graph, std::move(options), pool ? pool : BufferPool::shared(), threads};
  if (has_narrow_ids(*graph)) {
    engine_ = std::make_unique<EngineFor<int32_t>>(std::move(all), std::move(membership));
  } else {
    engine_ = std::make_unique<EngineFor<int64_t>>(std::move(all), std::move(membership));
  }
}

CooperativeSampler::~CooperativeSampler() = default;

std::optional<Message> CooperativeSampler::start(std::span<const Seeds> seeds,
                                                 uint64_t epoch,
                                                 uint64_t step,
                                                 std::span<const ExcludedEdges> excluded) {
  return engine_->start(seeds, epoch, step, excluded);
}

Message CooperativeSampler::ask(std::span<const Seeds> seeds,
                                uint64_t epoch,
                                uint64_t step,
                                std::span<const ExcludedEdges> excluded) {
  return engine_->ask(seeds, epoch, step, excluded);
}

std::span<const int32_t> CooperativeSampler::places_of_seeds(int type) const {
  return engine_->places_of_seeds(type);
}

std::optional<Message> CooperativeSampler::receive(const Message& from_ranks) {
  return engine_->receive(from_ranks);
}

Minibatch CooperativeSampler::take() {
  return engine_->take();
}

}  // namespace ramet
