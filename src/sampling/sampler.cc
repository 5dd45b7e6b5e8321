// Multi-hop neighbor sampling by one process; docs/semantics.md, sections 4 and 5.
#include "ramet/sampler.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/draw_keys.h"
#include "base/per_process.h"
#include "hop_sampler.h"

namespace ramet {
namespace {

// Kept from batch to batch and from sampler to sampler, so that a steady run touches no fresh
// memory.
template <typename Id>
struct Scratch {
  NodeIndexes<Id> nodes;
  std::vector<int64_t> seeds;
  HopScratch<Id> hop;

  // The scratch memory that nobody uses now; never more than was in use at once.
  struct Shelf {
    std::mutex mutex;
    std::vector<std::unique_ptr<Scratch>> idle;
  };
  static Shelf& shelf() {
    static auto* const shelves = new PerProcess<Shelf>;
    return shelves->get();
  }
  static std::unique_ptr<Scratch> take() {
    Shelf& from = shelf();
    const std::lock_guard lock(from.mutex);
    if (from.idle.empty()) return std::make_unique<Scratch>();
    auto scratch = std::move(from.idle.back());
    from.idle.pop_back();
    return scratch;
  }
  static void give_back(std::unique_ptr<Scratch> scratch) noexcept {
    try {
      Shelf& to = shelf();
      const std::lock_guard lock(to.mutex);
      to.idle.push_back(std::move(scratch));
    } catch (const std::bad_alloc&) {
      // Then it is freed instead.
    }
  }
};

}  // namespace

class NeighborSampler::Engine {
 public:
  virtual ~Engine() = default;
  virtual Minibatch sample(int seed_type,
                           std::span<const int64_t> seeds,
                           const DrawKeys& step_keys,
                           const std::atomic<bool>* stop) = 0;
};

// Ids are as wide inside as the graph's largest node type needs: half the memory traffic where
// 32 bits are enough.
template <typename Id>
class NeighborSampler::EngineFor final : public NeighborSampler::Engine {
 public:
  explicit EngineFor(HopOptions options)
      : scratch_(Scratch<Id>::take()), hop_sampler_(std::move(options), scratch_->hop) {
    prepare(scratch_->nodes, *hop_sampler_.options().graph);
  }
  ~EngineFor() override { Scratch<Id>::give_back(std::move(scratch_)); }
  EngineFor(const EngineFor&) = delete;
  EngineFor& operator=(const EngineFor&) = delete;

  Minibatch sample(int seed_type,
                   std::span<const int64_t> seeds,
                   const DrawKeys& step_keys,
                   const std::atomic<bool>* stop) override {
    start_batch(static_cast<size_t>(seed_type), seeds);
    Minibatch batch;
    batch.seed_type = seed_type;
    batch.num_seeds = static_cast<int64_t>(seeds.size());
    for (int hop = 0; hop < hop_sampler_.num_hops(); ++hop) {
      if (stop != nullptr && stop->load()) return batch;
      batch.blocks.push_back(sample_hop(step_keys, hop, stop));
    }
    std::reverse(batch.blocks.begin(), batch.blocks.end());
    for (const auto& nodes : scratch_->nodes)
      batch.n_id.push_back(to_int64(nodes.ids(), *hop_sampler_.options().pool));
    return batch;
  }

 private:
  void start_batch(size_t seed_type, std::span<const int64_t> seeds) {
    // Our copy is what is checked and used: the caller's memory may change meanwhile.
    scratch_->seeds.assign(seeds.begin(), seeds.end());
    check_seeds(scratch_->seeds, *hop_sampler_.options().graph, seed_type);
    for (size_t t = 0; t < scratch_->nodes.size(); ++t)
      scratch_->nodes[t].start_batch(
          std::span<const int64_t>(scratch_->seeds).first(t == seed_type ? seeds.size() : 0));
  }

  Block sample_hop(const DrawKeys& step_keys, int hop, const std::atomic<bool>* stop) {
    Block block;
    block.num_dst = sizes(scratch_->nodes);
    if (hop_sampler_.has_importance()) {
      hop_sampler_.weigh_candidates(scratch_->nodes, block.num_dst, hop)
          .iterate(hop_sampler_.options().sample.importance_iterations, stop);
    }
    block.relations = hop_sampler_.sample(scratch_->nodes, block.num_dst, step_keys, hop);
    block.num_src = sizes(scratch_->nodes);
    return block;
  }

  std::unique_ptr<Scratch<Id>> scratch_;
  HopSampler<Id> hop_sampler_;
};

NeighborSampler::NeighborSampler(const std::shared_ptr<const Graph>& graph,
                                 SampleOptions options,
                                 std::shared_ptr<BufferPool> pool,
                                 int threads)
    : seed_(options.seed), dependent_(static_cast<uint64_t>(options.dependent)) {
  check(options, *graph);
  HopOptions all{graph, std::move(options), pool ? std::move(pool) : BufferPool::shared(), threads};
  if (has_narrow_ids(*graph)) {
    engine_ = std::make_unique<EngineFor<int32_t>>(std::move(all));
  } else {
    engine_ = std::make_unique<EngineFor<int64_t>>(std::move(all));
  }
}

NeighborSampler::~NeighborSampler() = default;

Minibatch NeighborSampler::sample(int seed_type,
                                  std::span<const int64_t> seeds,
                                  uint64_t epoch,
                                  uint64_t step,
                                  const std::atomic<bool>* stop) {
  const DrawKeys keys = step_keys(seed_, epoch, step, dependent_);
  return engine_->sample(seed_type, seeds, keys, stop);
}

}  // namespace ramet
