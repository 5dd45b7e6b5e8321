// Multi-hop neighbor sampling by one process; docs/semantics.md, sections 4 and 5.
#include "ramet/sampler.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/per_process.h"
#include "budget/budget_hops.h"
#include "budget/tree_budget.h"
#include "hop_driver.h"
#include "hop_sampler.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// Kept from batch to batch and from sampler to sampler, so that a steady run touches no fresh
// memory.
template <typename Id>
struct Scratch {
  NodeIndexes<Id> nodes;
  HopScratch<Id> hop;

  // The scratch memory that nobody uses now; never more than was in use at once.
  struct Idle {
    std::mutex mutex;
    std::vector<std::unique_ptr<Scratch>> list;
  };
  static Idle& idle() {
    static auto* const idle = new PerProcess<Idle>;
    return idle->get();
  }
  static std::unique_ptr<Scratch> take() {
    Idle& from = idle();
    const std::lock_guard lock(from.mutex);
    if (from.list.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(from.list.back());
    from.list.pop_back();
    return scratch;
  }
  static void give_back(std::unique_ptr<Scratch> scratch) noexcept {
    try {
      Idle& to = idle();
      const std::lock_guard lock(to.mutex);
      to.list.push_back(std::move(scratch));
    } catch (const std::bad_alloc&) {
      // Then it is freed instead.
    }
  }
};

}  // namespace

class NeighborSampler::Engine {
 public:
  virtual ~Engine() = default;
  virtual Minibatch sample(std::span<const Seeds> seeds,
                           uint64_t epoch,
                           uint64_t step,
                           const std::atomic<bool>* stop,
                           std::span<const ExcludedEdges> excluded) = 0;
};

// Ids are as wide inside as the graph's largest node type needs: half the memory traffic where
// 32 bits are enough.
template <typename Id>
class NeighborSampler::EngineFor final : public NeighborSampler::Engine {
 public:
  explicit EngineFor(HopOptions options)
      : scratch_(Scratch<Id>::take()),
        driver_(options.graph, options.sample),
        hop_sampler_(std::move(options), scratch_->hop) {
    const auto* budget = std::get_if<Budget>(&hop_sampler_.options().sample.method);
    if (budget != nullptr) tree_budget_.emplace(graph(), *budget->nodes_per_tree);
    if (hop_sampler_.options().sample.disjoint)
      prepare_for_keys(scratch_->nodes, graph());
    else
      prepare(scratch_->nodes, graph());
  }
  ~EngineFor() override { Scratch<Id>::give_back(std::move(scratch_)); }
  EngineFor(const EngineFor&) = delete;
  EngineFor& operator=(const EngineFor&) = delete;

  Minibatch sample(std::span<const Seeds> seeds,
                   uint64_t epoch,
                   uint64_t step,
                   const std::atomic<bool>* stop,
                   std::span<const ExcludedEdges> excluded) override {
    driver_.start(seeds, epoch, step);
    hop_sampler_.exclude(excluded);
    if (tree_budget_) tree_budget_->start_batch(driver_.num_seeds());
    const HopOptions& options = hop_sampler_.options();
    const Array times = driver_.read_times(options.sample.time, seeds, *options.pool);
    hop_sampler_.start_times(times);
    NodeIndexes<Id>& nodes = scratch_->nodes;
    for (size_t t = 0; t < nodes.size(); ++t)
      hop_sampler_.start_list(nodes[t], driver_, t, 0, driver_.num_seeds());
    while (!driver_.is_done()) {
      if (stop != nullptr && stop->load()) return {};
      driver_.add(sample_hop(nodes, stop));
    }
    auto [n_id, trees] = hop_sampler_.take_lists(nodes);
    Minibatch batch = driver_.finish(std::move(n_id), std::move(trees));
    batch.seed_times = times;
    return batch;
  }

 private:
  [[nodiscard]] const Graph& graph() const { return *hop_sampler_.options().graph; }

  Block sample_hop(NodeIndexes<Id>& nodes, const std::atomic<bool>* stop) {
    Block block;
    const std::vector<int64_t> before = sizes(nodes);
    const std::vector<ListRange> destinations = driver_.destinations(before);
    set_destinations(block, destinations);
    if (auto* importance = hop_sampler_.start_importance(nodes, destinations, driver_.hop(), false))
      importance->iterate(stop);
    block.relations = hop_sampler_.sample(nodes, destinations, driver_.step_keys(), driver_.hop());
    if (tree_budget_) cut_trees(nodes, before, block.relations);
    block.num_src = sizes(nodes);
    return block;
  }

  // Takes the nodes of the hop for which trees have no room back out, with the edges out of them.
  void cut_trees(NodeIndexes<Id>& nodes,
                 std::span<const int64_t> before,
                 std::vector<Relation>& relations) {
    std::vector<std::span<const Id>> found;
    for (size_t t = 0; t < nodes.size(); ++t)
      found.push_back(nodes[t].ids().subspan(static_cast<size_t>(before[t])));
    const auto hop = static_cast<uint64_t>(driver_.hop());
    if (!tree_budget_->choose(found, absorb(driver_.step_keys(), hop))) return;
    for (size_t t = 0; t < nodes.size(); ++t) {
      tree_budget_->shorten(nodes[t], before[t], t);
      hop_sampler_.move(t, before[t], tree_budget_->positions(t));
    }
    for (Relation& relation : relations) {
      const auto type = graph().edge_types()[static_cast<size_t>(relation.edge_type)].src;
      const auto src = static_cast<size_t>(type);
      const auto positions = tree_budget_->positions(src);
      keep_edges(relation, [&](int32_t source) -> std::optional<int32_t> {
        if (source < before[src]) return source;
        const int32_t now = positions[static_cast<size_t>(source - before[src])];
        return now == TreeBudget<Id>::kCut ? std::nullopt : std::optional(now);
      });
    }
  }

  std::unique_ptr<Scratch<Id>> scratch_;
  HopDriver driver_;
  HopSampler<Id> hop_sampler_;
  std::optional<TreeBudget<Id>> tree_budget_;
};

template <typename Id>
class NeighborSampler::BudgetEngine final : public NeighborSampler::Engine {
 public:
  explicit BudgetEngine(HopOptions options)
      : pool_(options.pool),
        driver_(options.graph, options.sample),
        hops_(std::move(options), driver_) {}

  Minibatch sample(std::span<const Seeds> seeds,
                   uint64_t epoch,
                   uint64_t step,
                   const std::atomic<bool>* stop,
                   std::span<const ExcludedEdges> excluded) override {
    const auto stops = [&] { return stop != nullptr && stop->load(); };
    driver_.start(seeds, epoch, step);
    hops_.exclude(excluded);
    CandidatesByType<Id>& nodes = hops_.nodes();
    for (hops_.start(); !hops_.are_drawn(); hops_.end_hop()) {
      if (stops()) return {};
      hops_.share(nodes);
      for (size_t t = 0; t < nodes.size(); ++t) {
        for (const DrawnNode<Id>& drawn : hops_.draw(t))
          nodes[t].append(drawn.id);
      }
    }
    for (size_t hop = 0; hop <= hops_.num_hops(); ++hop) {
      if (stops()) return {};
      driver_.add(hops_.edges(hop));
    }
    std::vector<Array> n_id;
    for (const auto& of_type : nodes)
      n_id.push_back(to_int64(of_type.nodes(), *pool_));
    Minibatch batch = driver_.finish(std::move(n_id));
    batch.induced = true;
    return batch;
  }

 private:
  const std::shared_ptr<BufferPool> pool_;
  HopDriver driver_;
  BudgetHops<Id> hops_;
};

NeighborSampler::NeighborSampler(const std::shared_ptr<const Graph>& graph,
                                 SampleOptions options,
                                 std::shared_ptr<BufferPool> pool,
                                 int threads) {
  check(options, *graph);
  HopOptions all{graph, std::move(options), pool ? pool : BufferPool::shared(), threads};
  const bool is_narrow = has_narrow_ids(*graph) && !all.sample.disjoint;
  if (has_budgets_of_types(all.sample)) {
    if (is_narrow)
      engine_ = std::make_unique<BudgetEngine<int32_t>>(std::move(all));
    else
      engine_ = std::make_unique<BudgetEngine<int64_t>>(std::move(all));
  } else if (is_narrow) {
    engine_ = std::make_unique<EngineFor<int32_t>>(std::move(all));
  } else {
    engine_ = std::make_unique<EngineFor<int64_t>>(std::move(all));
  }
}

NeighborSampler::~NeighborSampler() = default;

Minibatch NeighborSampler::sample(std::span<const Seeds> seeds,
                                  uint64_t epoch,
                                  uint64_t step,
                                  const std::atomic<bool>* stop,
                                  std::span<const ExcludedEdges> excluded) {
  return engine_->sample(seeds, epoch, step, stop, excluded);
}

}  // namespace ramet
