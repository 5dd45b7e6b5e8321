// Multi-hop neighbor sampling by one process; docs/semantics.md, sections 4 and 5.
#include "ramet/sampler.h"

#include <mutex>
#include <utility>

#include "base/per_process.h"
#include "hop_driver.h"
#include "hop_sampler.h"

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
  virtual Minibatch sample(const Seeds& seeds,
                           uint64_t epoch,
                           uint64_t step,
                           const std::atomic<bool>* stop) = 0;
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
    prepare(scratch_->nodes, *hop_sampler_.options().graph);
  }
  ~EngineFor() override { Scratch<Id>::give_back(std::move(scratch_)); }
  EngineFor(const EngineFor&) = delete;
  EngineFor& operator=(const EngineFor&) = delete;

  Minibatch sample(const Seeds& seeds,
                   uint64_t epoch,
                   uint64_t step,
                   const std::atomic<bool>* stop) override {
    driver_.start(seeds, epoch, step);
    NodeIndexes<Id>& nodes = scratch_->nodes;
    for (size_t t = 0; t < nodes.size(); ++t)
      nodes[t].start_batch(driver_.seeds(t));
    while (!driver_.is_done()) {
      if (stop != nullptr && stop->load()) return {};
      driver_.add(sample_hop(nodes, stop));
    }
    std::vector<Array> n_id;
    for (const auto& of_type : nodes)
      n_id.push_back(to_int64(of_type.ids(), *hop_sampler_.options().pool));
    return driver_.finish(std::move(n_id));
  }

 private:
  Block sample_hop(NodeIndexes<Id>& nodes, const std::atomic<bool>* stop) {
    Block block;
    const std::vector<ListRange> destinations = driver_.destinations(sizes(nodes));
    set_destinations(block, destinations);
    if (auto* importance = hop_sampler_.start_importance(nodes, destinations, driver_.hop()))
      importance->iterate(stop);
    block.relations = hop_sampler_.sample(nodes, destinations, driver_.step_keys(), driver_.hop());
    block.num_src = sizes(nodes);
    return block;
  }

  std::unique_ptr<Scratch<Id>> scratch_;
  HopDriver driver_;
  HopSampler<Id> hop_sampler_;
};

NeighborSampler::NeighborSampler(const std::shared_ptr<const Graph>& graph,
                                 SampleOptions options,
                                 std::shared_ptr<BufferPool> pool,
                                 int threads) {
  check(options, *graph);
  HopOptions all{graph, std::move(options), pool ? std::move(pool) : BufferPool::shared(), threads};
  if (has_narrow_ids(*graph)) {
    engine_ = std::make_unique<EngineFor<int32_t>>(std::move(all));
  } else {
    engine_ = std::make_unique<EngineFor<int64_t>>(std::move(all));
  }
}

NeighborSampler::~NeighborSampler() = default;

Minibatch NeighborSampler::sample(const Seeds& seeds,
                                  uint64_t epoch,
                                  uint64_t step,
                                  const std::atomic<bool>* stop) {
  return engine_->sample(seeds, epoch, step, stop);
}

}  // namespace ramet
