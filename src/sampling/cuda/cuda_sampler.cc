// docs/semantics.md, section 12. The work on one hop is in cuda_hop.cc.
#include "ramet/cuda_sampler.h"

#include <string>
#include <utility>
#include <vector>

#include "cuda_hop.h"
#include "ramet/error.h"
#include "sampling/hop_driver.h"

namespace ramet {

class CudaSampler::Engine {
 public:
  Engine(std::shared_ptr<const CudaGraph> graph,
         SampleOptions options,
         std::shared_ptr<BufferPool> pool,
         CudaStreamHandle stream,
         RowOrder order)
      : graph_(std::move(graph)),
        options_(std::move(options)),
        work_{graph_->device(), stream, std::move(pool)},
        driver_(graph_->graph(), options_),
        tree_keys_(options_.disjoint ? tree_keys(*graph_->graph()) : std::vector<TreeKeys>()),
        hop_(work_, *graph_, options_, tree_keys_, order) {}

  // The stream may still read what dies here.
  ~Engine() {
    try {
      work_.wait();
    } catch (const Error&) {
      // The stream's own failure; its work is over.
    }
  }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Minibatch sample(std::span<const Seeds> seeds,
                   uint64_t epoch,
                   uint64_t step,
                   const std::atomic<bool>* stop,
                   std::span<const ExcludedEdges> excluded) {
    driver_.start(seeds, epoch, step);
    hop_.exclude(excluded);
    const Array times = driver_.read_times(options_.time, seeds, *BufferPool::shared());
    if (options_.time) hop_.start_batch(seed_spans(*options_.time, times));
    for (size_t t = 0; t < hop_.nodes().size(); ++t)
      start_batch(hop_.nodes()[t], t);
    while (!driver_.is_done()) {
      if (stop != nullptr && stop->load()) return {};
      const std::vector<ListRange> destinations = driver_.destinations(hop_.sizes());
      driver_.add(hop_.sample(destinations, driver_.step_keys(), driver_.hop(), stop));
    }
    auto [n_id, trees] = hop_.take_lists();
    for (CudaNodes& nodes : hop_.nodes())
      nodes.finish_batch();
    Minibatch batch = driver_.finish(std::move(n_id), std::move(trees));
    batch.seed_times = times;
    return batch;
  }

 private:
  void start_batch(CudaNodes& nodes, size_t type) {
    if (tree_keys_.empty()) return nodes.start_batch(driver_.seeds(type));
    tree_keys_[type].require(driver_.num_seeds());
    seed_keys_[type] = tree_keys_[type].keys(driver_.first_seed(type), driver_.seeds(type));
    nodes.start_batch(seed_keys_[type]);
  }

  const std::shared_ptr<const CudaGraph> graph_;
  const SampleOptions options_;
  const CudaWork work_;
  HopDriver driver_;
  const std::vector<TreeKeys> tree_keys_;  // by node type; empty unless trees are disjoint
  std::vector<std::vector<int64_t>> seed_keys_ =
      std::vector<std::vector<int64_t>>(tree_keys_.size());  // copied as a batch begins
  CudaHop hop_;
};

CudaSampler::CudaSampler(std::shared_ptr<const CudaGraph> graph,
                         SampleOptions options,
                         std::shared_ptr<BufferPool> pool,
                         CudaStreamHandle stream,
                         RowOrder order) {
  check(options, *graph->graph());
  if (const auto& part = graph->graph()->part())
    throw_invalid("sampling on a device needs a whole graph; this store is part ", part->index,
                  " of ", part->count);
  const std::string why_cpu = why_cpu_samples(options);
  if (!why_cpu.empty()) throw_invalid(why_cpu, ", not on a device");
  engine_ = std::make_unique<Engine>(std::move(graph), std::move(options), std::move(pool), stream,
                                     order);
}

CudaSampler::~CudaSampler() = default;

Minibatch CudaSampler::sample(std::span<const Seeds> seeds,
                              uint64_t epoch,
                              uint64_t step,
                              const std::atomic<bool>* stop,
                              std::span<const ExcludedEdges> excluded) {
  return engine_->sample(seeds, epoch, step, stop, excluded);
}

}  // namespace ramet
