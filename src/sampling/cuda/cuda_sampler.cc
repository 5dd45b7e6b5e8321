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
        hop_(work_, *graph_, options_, order) {}

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
                   const std::atomic<bool>* stop) {
    driver_.start(seeds, epoch, step);
    for (size_t t = 0; t < hop_.nodes().size(); ++t)
      hop_.nodes()[t].start_batch(driver_.seeds(t));
    while (!driver_.is_done()) {
      if (stop != nullptr && stop->load()) return {};
      const std::vector<ListRange> destinations = driver_.destinations(hop_.sizes());
      driver_.add(hop_.sample(destinations, driver_.step_keys(), driver_.hop(), stop));
    }
    std::vector<Array> n_id;
    for (CudaNodes& nodes : hop_.nodes()) {
      n_id.push_back(copy_of(nodes));
      nodes.finish_batch();
    }
    return driver_.finish(std::move(n_id));
  }

 private:
  [[nodiscard]] Array copy_of(const CudaNodes& nodes) const {
    Array ids = work_.allocate(DType::kInt64, nodes.size());
    work_.copy(ids.data, nodes.ids(), ids.bytes());
    return ids;
  }

  const std::shared_ptr<const CudaGraph> graph_;
  const SampleOptions options_;
  const CudaWork work_;
  HopDriver driver_;
  CudaHop hop_;
};

CudaSampler::CudaSampler(std::shared_ptr<const CudaGraph> graph,
                         SampleOptions options,
                         std::shared_ptr<BufferPool> pool,
                         CudaStreamHandle stream,
                         RowOrder order) {
  check(options, *graph->graph());
  const std::string why_cpu = why_cpu_samples(options);
  if (!why_cpu.empty()) throw_invalid(why_cpu, ", not on a device");
  engine_ = std::make_unique<Engine>(std::move(graph), std::move(options), std::move(pool), stream,
                                     order);
}

CudaSampler::~CudaSampler() = default;

Minibatch CudaSampler::sample(std::span<const Seeds> seeds,
                              uint64_t epoch,
                              uint64_t step,
                              const std::atomic<bool>* stop) {
  return engine_->sample(seeds, epoch, step, stop);
}

}  // namespace ramet
