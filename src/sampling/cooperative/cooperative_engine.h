// CooperativeEngine: the exchanges of a CooperativeSampler, with ids of one width.
//
// A hop has one exchange: the sources that a rank found go to their owners, in the order of the
// ranks and, of one rank, of their first edge. The owner gives each a position among its own nodes,
// which is both the next hop's destination and the row to send back when the layer runs. LABOR-i
// has exchanges before that (cooperative_importance.h). Seeds that others own go to their owners in
// the same way, before the first hop. Disjoint trees are numbered before that (shared_trees.h).
//
// A layer's source rows are stored by rank, so what arrives in the layer's exchange lies where it
// is used and nothing is moved twice: local ids are renumbered once here instead.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "cooperative_importance.h"
#include "exchange/asked_nodes.h"
#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "exchange/routes.h"
#include "path_exchange.h"
#include "ramet/error.h"
#include "sampling/cooperative_sampler.h"
#include "sampling/hop_driver.h"
#include "sampling/hop_sampler.h"
#include "shared_trees.h"

namespace ramet {

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
        trees_(static_cast<size_t>(membership_.rank), ranks_),
        names_(names_of(membership_, hop_sampler_.tree_keys())),
        routes_(names_.size()),
        requests_(names_.size()),
        seed_places_(names_.size()),
        importance_(membership_, names_, routes_, requests_, pool()) {
    if (is_disjoint())
      prepare_for_keys(layer_, graph());
    else
      prepare(layer_, graph());
    prepare_own(own_);
    if (hop_sampler_.has_importance()) prepare_own(importance_.own_candidates());
  }

  std::optional<Message> start(std::span<const Seeds> seeds,
                               uint64_t epoch,
                               uint64_t step,
                               std::span<const ExcludedEdges> excluded) override {
    asks_ = false;
    const Array times = begin(seeds, epoch, step, excluded);
    for (size_t t = 0; t < own_.size(); ++t)
      check_owned(t);
    return is_disjoint() ? announce_trees(times) : start_lists();
  }

  Message ask(std::span<const Seeds> seeds,
              uint64_t epoch,
              uint64_t step,
              std::span<const ExcludedEdges> excluded) override {
    asks_ = true;
    const Array times = begin(seeds, epoch, step, excluded);
    return is_disjoint() ? announce_trees(times) : ask_for_seeds();
  }

  [[nodiscard]] std::span<const int32_t> places_of_seeds(int type) const override {
    return seed_places_[static_cast<size_t>(type)];
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
      case Stage::kTrees:
        receive_trees(from_ranks);
        return start_lists();
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
    const Array times = times_of_seeds();
    auto [n_id, trees] = hop_sampler_.take_lists(own_);
    Minibatch minibatch = driver_.finish(std::move(n_id), std::move(trees));
    minibatch.seed_times = times;
    minibatch.seed_exchange = std::move(seed_exchange_);
    return minibatch;
  }

 private:
  // Which exchange comes in next, if any.
  enum class Stage : uint8_t { kIdle, kTrees, kSeeds, kImportance, kSources, kComplete };

  [[nodiscard]] const Graph& graph() const { return *hop_sampler_.options().graph; }
  [[nodiscard]] BufferPool& pool() const { return *hop_sampler_.options().pool; }

  [[nodiscard]] bool is_disjoint() const { return !hop_sampler_.tree_keys().empty(); }

  static std::vector<AskedNodes> names_of(const Membership& membership,
                                          const std::vector<TreeKeys>& keys) {
    std::vector<AskedNodes> names;
    for (const Ownership& owners : membership.owners)
      names.push_back({owners.span_of(membership.rank)});
    for (size_t t = 0; t < keys.size(); ++t)
      names[t].id_bits = keys[t].id_bits();
    return names;
  }

  void prepare_own(NodeIndexes<Id>& nodes) const {
    if (is_disjoint()) return prepare_for_keys(nodes, graph());
    std::vector<NodeRange> spans;
    for (const AskedNodes& of_type : names_)
      spans.push_back(of_type.own);
    prepare(nodes, graph(), spans);
  }

  // Returns the times of the seeds.
  Array begin(std::span<const Seeds> seeds,
              uint64_t epoch,
              uint64_t step,
              std::span<const ExcludedEdges> excluded) {
    stage_ = Stage::kIdle;
    seed_exchange_.clear();
    hop_sampler_.exclude(excluded);
    driver_.start(seeds, epoch, step);
    const auto& options = hop_sampler_.options();
    return driver_.read_times(options.sample.time, seeds, *options.pool);
  }

  Message announce_trees(const Array& times) {
    Message message = trees_.announce(driver_.num_seeds(), times, pool());
    stage_ = Stage::kTrees;
    return message;
  }

  void receive_trees(const Message& from_ranks) {
    trees_.receive(from_ranks, pool());
    for (AskedNodes& of_type : names_)
      of_type.num_trees = trees_.size();
    hop_sampler_.start_times(trees_.times());
  }

  std::optional<Message> start_lists() {
    if (asks_) return ask_for_seeds();
    start_with_seeds(own_);
    return next_hop();
  }

  void start_with_seeds(NodeIndexes<Id>& nodes) const {
    for (size_t t = 0; t < nodes.size(); ++t)
      hop_sampler_.start_list(nodes[t], driver_, t, trees_.first(), trees_.size());
  }

  Message ask_for_seeds() {
    start_with_seeds(layer_);
    for (NodeIndex<Id>& of_type : own_)
      of_type.start_batch(std::span<const Id>());
    route(std::vector<int64_t>(own_.size(), 0));
    Message message = ask_owners(false);
    for (size_t t = 0; t < own_.size(); ++t)
      seed_places_[t].assign(routes_[t].place().begin(), routes_[t].place().end());
    stage_ = Stage::kSeeds;
    return message;
  }

  // Begins with what ranks asked for.
  void take_seeds(const Message& from_ranks) {
    seed_exchange_ = receive_nodes(from_ranks, false);
    const auto ids = hop_sampler_.take_lists(own_).n_id;
    std::vector<Seeds> seeds;
    for (const SeedCount& asked : driver_.seed_counts())
      seeds.push_back(
          {.type = asked.type, .ids = ids[static_cast<size_t>(asked.type)].template as<int64_t>()});
    driver_.set_seeds(seeds);
  }

  // Minibatch::seed_times.
  [[nodiscard]] Array times_of_seeds() const {
    if (trees_.times().data == nullptr) return {};
    Array times = trees_.times();
    const auto of_trees = times.template as<int64_t>();
    const auto width = static_cast<size_t>(times.shape.size() == 1 ? 1 : 2);
    times.shape[0] = driver_.num_seeds();
    times = pool().allocate_array(DType::kInt64, times.shape);
    auto* out = static_cast<int64_t*>(times.data);
    for (const SeedCount& of_type : driver_.seed_counts()) {
      const auto type = static_cast<size_t>(of_type.type);
      for (const Id seed : own_[type].ids().first(static_cast<size_t>(of_type.count))) {
        const auto tree = static_cast<size_t>(names_[type].tree(seed));
        out = std::copy_n(of_trees.begin() + static_cast<long>(tree * width), width, out);
      }
    }
    return times;
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
    route(block_.num_dst);
    Message message = ask_owners(hop_sampler_.is_monotonic());
    if (ranks_ > 1) {
      for (Relation& relation : block_.relations)
        renumber(relation);
    }
    stage_ = Stage::kSources;
    return message;
  }

  // The nodes of layer_ after the first `num_known` of each type are to go to their owners.
  void route(const std::vector<int64_t>& num_known) {
    for (size_t t = 0; t < own_.size(); ++t)
      routes_[t].build(layer_[t].ids().subspan(static_cast<size_t>(num_known[t])), names_[t],
                       membership_.owners[t], pool());
  }

  Message ask_owners(bool with_paths) {
    const size_t types = own_.size();
    for (size_t t = 0; with_paths && t < types; ++t)
      paths_.take(hop_sampler_.path_times(), t, block_.num_dst[t], routes_[t]);
    return message_of<Id>(with_paths ? 2 * types : types, ranks_, pool(), [&](size_t list) {
      return list < types ? Values<Id>{routes_[list].counts(), routes_[list].nodes()}
                          : paths_.values(list - types);
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
  std::vector<ExchangePlan> receive_nodes(const Message& from_ranks, bool with_paths) {
    const size_t types = own_.size();
    const MessageReader<Id> from(from_ranks, ranks_, with_paths ? 2 * types : types);
    std::vector<ExchangePlan> plans;
    for (size_t t = 0; t < types; ++t) {
      requests_[t].insert(from, t, ranks_, names_[t], own_[t], pool());
      if (with_paths) paths_.add(from, types + t, requests_[t], t, hop_sampler_.path_times());
      plans.push_back(plan(t));
    }
    return plans;
  }

  void finish_hop(const Message& from_ranks) {
    block_.exchange = receive_nodes(from_ranks, hop_sampler_.is_monotonic());
    block_.num_src = sizes(layer_);
    driver_.add(std::move(block_));
  }

  ExchangePlan plan(size_t type) {
    const auto counts = routes_[type].counts();
    return {.num_owned = own_[type].size(),
            .send_rows = requests_[type].take_positions(),
            .send_counts = requests_[type].counts(),
            .receive_counts = {counts.begin(), counts.end()},
            .source_ids = routes_[type].take_ids(names_[type])};
  }

  const Membership membership_;
  const size_t ranks_;
  HopScratch<Id> scratch_;
  HopDriver driver_;
  HopSampler<Id> hop_sampler_;
  SharedTrees trees_;               // with disjoint trees
  std::vector<AskedNodes> names_;   // by node type, as what follows
  NodeIndexes<Id> own_;             // the batch's nodes of this rank
  NodeIndexes<Id> layer_;           // the hop's sources, whoever owns them; destinations first
  std::vector<Routes<Id>> routes_;  // of what this rank asks for
  std::vector<IncomingIds<Id>> requests_;          // of what it is asked for
  std::vector<std::vector<int32_t>> seed_places_;  // of the seeds that it asks for
  ImportanceExchange<Id> importance_;              // of LABOR-i
  PathExchange<Id> paths_;                         // with Time::monotonic

  Stage stage_ = Stage::kIdle;
  bool asks_ = false;  // for its seeds
  Block block_;        // of the hop
  std::vector<ListRange> destinations_;
  std::vector<ExchangePlan> seed_exchange_;
};

}  // namespace ramet
