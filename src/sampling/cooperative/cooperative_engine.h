// CooperativeEngine: the exchanges of a CooperativeSampler, with ids of one width.
//
// A hop has one exchange: the sources that a rank found go to their owners, in the order of the
// ranks and, of one rank, of their first edge. The owner gives each a position among its own nodes,
// which is both the next hop's destination and the row to send back when the layer runs. LABOR-i
// has exchanges before that (cooperative_importance.h), trees of a number of nodes have one after
// it (tree_exchange.h), and budgets of node types have others (budget_exchange.h). Seeds that
// others own go to their owners in the same way, before the first hop. Disjoint trees are numbered
// before that (shared_trees.h). Where a device draws, it also exchanges the ids of a hop
// (cuda_id_exchange.h), unless paths have times or sources are merged. The host knows seeds alone.
//
// A layer's source rows are stored by rank, so what arrives in the layer's exchange lies where it
// is used and nothing is moved twice: local ids are renumbered once here instead.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "budget_exchange.h"
#include "cooperative_importance.h"
#include "engine.h"
#include "exchange/asked_nodes.h"
#include "exchange/incoming_ids.h"
#include "exchange/message.h"
#include "exchange/routes.h"
#include "frontier.h"
#include "merged_sources.h"
#include "owned_nodes.h"
#include "path_exchange.h"
#include "ramet/error.h"
#include "sampling/hop_driver.h"
#include "sampling/hop_sampler.h"
#include "shared_trees.h"
#include "tree_exchange.h"

namespace ramet {

template <typename Id>
class CooperativeSampler::EngineFor final : public CooperativeSampler::Engine {
 public:
  EngineFor(HopOptions options, Membership membership, std::unique_ptr<CudaFrontier> device)
      : membership_(std::move(membership)),
        ranks_(static_cast<size_t>(membership_.ranks())),
        driver_(options.graph, options.sample),
        hop_sampler_(std::move(options), scratch_),
        device_(std::move(device)),
        trees_(static_cast<size_t>(membership_.rank), ranks_),
        names_(names_of(membership_, hop_sampler_.tree_keys())),
        exchange_(merges() || hop_sampler_.is_monotonic()
                      ? nullptr
                      : exchange_of<Id>(device_.get(), membership_, names_)),
        frontier_(hop_sampler_, layer_, device_.get(), exchange_.get()),
        routes_(names_.size()),
        requests_(names_.size()),
        seed_positions_(names_.size()),
        merged_(merges() ? names_.size() : 0),
        importance_(membership_, names_, frontier_, hop_sampler_.options(), routes_, requests_) {
    prepare_all(layer_, graph(), is_disjoint());
    if (merges()) prepare_all(merged_index_, graph(), is_disjoint());
    prepare_own(own_, graph(), names_);
    if (hop_sampler_.has_importance()) prepare_own(importance_.own_candidates(), graph(), names_);
    const SampleOptions& sample = hop_sampler_.options().sample;
    if (has_budgets_of_types(sample)) {
      budget_.emplace(membership_, names_, hop_sampler_.options(), driver_, own_, routes_,
                      requests_);
    } else if (const auto* budget = std::get_if<Budget>(&sample.method)) {
      tree_budget_.emplace(membership_, names_, graph(), *budget->nodes_per_tree);
    }
  }

  std::optional<Message> start(std::span<const Seeds> seeds,
                               uint64_t epoch,
                               uint64_t step,
                               std::span<const ExcludedEdges> excluded) override {
    asks_ = false;
    const Array times = begin(seeds, epoch, step, excluded);
    check_owned(membership_, driver_);
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

  [[nodiscard]] std::span<const int32_t> positions_of_seeds(int type) const override {
    return seed_positions_[static_cast<size_t>(type)];
  }

  std::optional<Message> receive(const Message& from_ranks) override {
    // What is thrown on the way leaves nothing to go on with.
    switch (std::exchange(stage_, Stage::kIdle)) {
      case Stage::kIdle:
      case Stage::kDone:
        throw_invalid("no minibatch is being sampled: call start() first");
      case Stage::kLabor:
        if (auto message = importance_.receive(from_ranks)) {
          stage_ = Stage::kLabor;
          return message;
        }
        return sample_sources();
      case Stage::kTrees:
        receive_trees(from_ranks);
        return start_lists();
      case Stage::kSeeds:
        take_seeds(from_ranks);
        return next_hop();
      case Stage::kBudget:
        if (auto message = budget_->receive(from_ranks)) {
          stage_ = Stage::kBudget;
          return message;
        }
        stage_ = Stage::kDone;
        return std::nullopt;
      case Stage::kSources:
        exchange_ != nullptr ? exchange_->receive(from_ranks)
                             : receive_nodes(from_ranks, hop_sampler_.is_monotonic());
        if (tree_budget_) {
          stage_ = Stage::kFound;
          return tree_budget_->announce(own_, frontier_.num_own(), pool());
        }
        finish_hop();
        return next_hop();
      case Stage::kFound:
        cut_trees(from_ranks);
        finish_hop();
        return next_hop();
    }
    return std::nullopt;
  }

  Minibatch take() override {
    if (std::exchange(stage_, Stage::kIdle) != Stage::kDone)
      throw_invalid(
          "no minibatch is complete: call start(), and receive() until it returns nothing");
    auto [n_id, trees] = hop_sampler_.take_lists(own_);
    Minibatch minibatch = driver_.finish(std::move(n_id), std::move(trees));
    if (merges()) merge(minibatch);
    for (size_t t = 0; t < own_.size() && budget_; ++t)
      minibatch.merged_exchange.push_back(plan(t));
    minibatch.induced = budget_.has_value();
    minibatch.seed_times = trees_.times_of_seeds(minibatch, pool());
    minibatch.seed_exchange = std::move(seed_exchange_);
    frontier_.finish_batch(minibatch);
    return minibatch;
  }

 private:
  // Which exchange comes in next, if any.
  enum class Stage : uint8_t { kIdle, kTrees, kSeeds, kLabor, kBudget, kSources, kFound, kDone };

  [[nodiscard]] const Graph& graph() const { return *hop_sampler_.options().graph; }
  [[nodiscard]] BufferPool& pool() const { return *hop_sampler_.options().pool; }

  [[nodiscard]] bool is_disjoint() const { return !hop_sampler_.tree_keys().empty(); }

  // Whether the sources of all hops are listed together, as the hops find them.
  [[nodiscard]] bool merges() const {
    const SampleOptions& sample = hop_sampler_.options().sample;
    return sample.expand == Expand::kOnce && !has_budgets_of_types(sample);
  }

  // Returns the times of the seeds.
  Array begin(std::span<const Seeds> seeds,
              uint64_t epoch,
              uint64_t step,
              std::span<const ExcludedEdges> excluded) {
    stage_ = Stage::kIdle;
    frontier_.wait();  // for a batch that failed
    seed_exchange_.clear();
    for (size_t t = 0; t < merged_.size(); ++t)
      merged_[t].start_batch(merged_index_[t], ranks_);
    frontier_.start_batch(excluded);
    if (budget_) budget_->exclude(excluded);
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
    if (tree_budget_) tree_budget_->start_batch(trees_.size());
    frontier_.start_times(trees_.times());
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
    for (size_t t = 0; t < own_.size(); ++t)
      route(t, layer_[t].ids());
    Message message = ask_owners(false);
    for (size_t t = 0; t < own_.size(); ++t)
      seed_positions_[t].assign(routes_[t].positions().begin(), routes_[t].positions().end());
    stage_ = Stage::kSeeds;
    return message;
  }

  // Begins with what ranks asked for.
  void take_seeds(const Message& from_ranks) {
    receive_nodes(from_ranks, false);
    for (size_t t = 0; t < own_.size(); ++t)
      seed_exchange_.push_back(plan(t));
    const auto ids = hop_sampler_.take_lists(own_).n_id;
    std::vector<Seeds> seeds;
    for (const SeedCount& asked : driver_.seed_counts())
      seeds.push_back(
          {.type = asked.type, .ids = ids[static_cast<size_t>(asked.type)].template as<int64_t>()});
    driver_.set_seeds(seeds);
  }

  std::optional<Message> next_hop() {
    if (budget_) {
      stage_ = Stage::kBudget;
      return budget_->start();
    }
    if (driver_.is_done()) {
      stage_ = Stage::kDone;
      return std::nullopt;
    }
    block_ = {};
    destinations_ = driver_.destinations(frontier_.sizes_of_own(own_, driver_.hop()));
    set_destinations(block_, destinations_);
    frontier_.start(own_, destinations_, driver_.hop());
    if (!frontier_.start_importance()) return sample_sources();
    Message message = importance_.start();
    stage_ = Stage::kLabor;
    return message;
  }

  Message sample_sources() {
    block_.relations = frontier_.sample(driver_.step_keys());
    Message message = exchange_ != nullptr ? exchange_->ask(frontier_.num_own()) : ask_for_found();
    for (const Relation& relation : block_.relations)
      renumber(relation);
    stage_ = Stage::kSources;
    return message;
  }

  Message ask_for_found() {
    for (size_t t = 0; t < own_.size(); ++t)
      route_found(t);
    return ask_owners(hop_sampler_.is_monotonic());
  }

  // The sources that are not among this rank's nodes.
  void route_found(size_t t) {
    std::span<const Id> found = frontier_.found(t);
    const int64_t num_own = frontier_.num_own(t), end = num_own + std::ssize(found);
    if (merges()) found = merged_[t].add(found);
    route(t, found);
    if (!hop_sampler_.is_monotonic()) return;
    auto paths = hop_sampler_.path_times().take(t, num_own, end);
    if (merges()) merged_[t].keep_new(paths);
    paths_.set(t, paths, routes_[t]);
  }

  void route(size_t t, std::span<const Id> nodes) {
    routes_[t].build(nodes, names_[t], membership_.owners[t], pool());
  }

  Message ask_owners(bool with_paths) {
    const size_t types = own_.size();
    return message_of<Id>(with_paths ? 2 * types : types, ranks_, pool(), [&](size_t list) {
      return list < types ? Values<Id>{routes_[list].counts(), routes_[list].nodes()}
                          : paths_.values(list - types);
    });
  }

  [[nodiscard]] size_t source_type(const Relation& relation) const {
    return static_cast<size_t>(graph().edge_types()[static_cast<size_t>(relation.edge_type)].src);
  }

  // From the order in which sources were found to that of their owners; what is merged, to ~number.
  void renumber(const Relation& relation) const {
    if (ranks_ == 1 && !merges()) return;
    const size_t src = source_type(relation);
    const auto num_own = static_cast<int32_t>(frontier_.num_own(src));
    const auto to = exchange_ != nullptr ? exchange_->positions(src)
                    : merges()           ? merged_[src].numbers()
                                         : routes_[src].positions();
    frontier_.renumber(relation, {.at = to.data(),
                                  .size = std::ssize(to),
                                  .first = num_own,
                                  .base = merges() ? 0 : num_own,
                                  .flip_result = merges() ? -1 : 0});
  }

  // Of what was sampled, the sources and their plan.
  void merge(Minibatch& minibatch) {
    for (size_t t = 0; t < own_.size(); ++t)
      minibatch.merged_exchange.push_back(merged_[t].finish(static_cast<size_t>(membership_.rank),
                                                            own_[t].size(), names_[t], pool()));
    for (const Block& block : minibatch.blocks) {
      for (const Relation& relation : block.relations) {
        const auto positions = merged_[source_type(relation)].positions();
        frontier_.renumber(relation,
                           {.at = positions.data(), .size = std::ssize(positions), .flip = -1});
      }
    }
  }

  // Appends the nodes that ranks ask for to own_.
  void receive_nodes(const Message& from_ranks, bool with_paths) {
    const size_t types = own_.size();
    const MessageReader<Id> from(from_ranks, ranks_, with_paths ? 2 * types : types);
    for (size_t t = 0; t < types; ++t) {
      requests_[t].insert(from, t, ranks_, names_[t], own_[t], pool());
      if (with_paths) paths_.add(from, types + t, requests_[t], t, hop_sampler_.path_times());
    }
  }

  // Takes the edges out, too: also those of nodes that were taken out before, which this rank does
  // not ask for again.
  void cut_trees(const Message& from_ranks) {
    const DrawKeys keys = absorb(driver_.step_keys(), static_cast<uint64_t>(driver_.hop()));
    tree_budget_->receive(from_ranks, keys, frontier_.num_own(), own_, requests_, merged_,
                          [&](auto... moved) { hop_sampler_.move(moved...); });
    for (Relation& relation : block_.relations) {
      const MergedSources<Id>& sources = merged_[source_type(relation)];
      keep_edges(relation, [&](int32_t source) {
        return source < 0 && sources.is_cut(~source) ? std::nullopt : std::optional(source);
      });
    }
  }

  void finish_hop() {
    for (size_t t = 0; t < own_.size(); ++t)
      merges()
          ? merged_[t].exchange(routes_[t], requests_[t])
          : block_.exchange.push_back(exchange_ != nullptr ? exchange_->take_plan(t) : plan(t));
    block_.num_src = merges() ? sizes(own_) : frontier_.num_src();
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
  const std::unique_ptr<CudaFrontier> device_;  // nullptr: processors sample
  SharedTrees trees_;                           // with disjoint trees
  std::vector<AskedNodes> names_;               // by node type, as what follows
  NodeIndexes<Id> own_;                         // the batch's nodes of this rank
  NodeIndexes<Id> layer_;  // the hop's sources, whoever owns them; destinations first
  const std::unique_ptr<CudaIdExchange<Id>> exchange_;  // nullptr: the host exchanges ids
  Frontier<Id> frontier_;
  std::vector<Routes<Id>> routes_;                    // of what this rank asks for
  std::vector<IncomingIds<Id>> requests_;             // of what it is asked for
  std::vector<std::vector<int32_t>> seed_positions_;  // of the seeds that it asks for
  NodeIndexes<Id> merged_index_;
  std::vector<MergedSources<Id>> merged_;  // with Expand::kOnce
  ImportanceExchange<Id> importance_;      // of LABOR-i
  PathExchange<Id> paths_;                 // with Time::monotonic
  std::optional<BudgetExchange<Id>> budget_;
  std::optional<TreeExchange<Id>> tree_budget_;

  Stage stage_ = Stage::kIdle;
  bool asks_ = false;  // for its seeds
  Block block_;        // of the hop
  std::vector<ListRange> destinations_;
  std::vector<ExchangePlan> seed_exchange_;
};

}  // namespace ramet
