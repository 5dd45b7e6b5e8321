// docs/semantics.md, section 12. The work on one hop is in cuda_hop.cc.
#include "ramet/cuda_sampler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cuda_hop.h"
#include "ramet/error.h"
#include "sampling/hop_sampler.h"

namespace ramet {

class CudaSampler::Engine {
 public:
  Engine(std::shared_ptr<const CudaGraph> graph,
         SampleOptions options,
         std::shared_ptr<BufferPool> pool,
         CudaStreamHandle stream)
      : graph_(std::move(graph)),
        options_(std::move(options)),
        work_{graph_->device(), stream, std::move(pool)},
        hop_(work_, *graph_, options_) {}

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

  Minibatch sample(int seed_type,
                   std::span<const int64_t> seeds,
                   uint64_t epoch,
                   uint64_t step,
                   const std::atomic<bool>* stop) {
    start_batch(static_cast<size_t>(seed_type), seeds);
    const DrawKeys keys =
        step_keys(options_.seed, epoch, step, static_cast<uint64_t>(options_.dependent));
    Minibatch batch;
    batch.seed_type = seed_type;
    batch.num_seeds = static_cast<int64_t>(seeds.size());
    const auto num_hops = static_cast<int>(options_.fanouts.front().size());
    for (int hop = 0; hop < num_hops; ++hop) {
      if (stop != nullptr && stop->load()) return batch;
      batch.blocks.push_back(hop_.sample(keys, hop, stop));
    }
    std::reverse(batch.blocks.begin(), batch.blocks.end());
    for (CudaNodes& nodes : hop_.nodes()) {
      batch.n_id.push_back(copy_of(nodes));
      nodes.finish_batch();
    }
    return batch;
  }

 private:
  void start_batch(size_t seed_type, std::span<const int64_t> seeds) {
    // Our copy is what is checked and used: the caller's memory may change meanwhile.
    seeds_.assign(seeds.begin(), seeds.end());
    check_seeds(seeds_, *graph_->graph(), seed_type);
    for (size_t t = 0; t < hop_.nodes().size(); ++t)
      hop_.nodes()[t].start_batch(
          std::span<const int64_t>(seeds_).first(t == seed_type ? seeds_.size() : 0));
  }

  [[nodiscard]] Array copy_of(const CudaNodes& nodes) const {
    Array ids = work_.allocate(DType::kInt64, nodes.size());
    work_.copy(ids.data, nodes.ids(), ids.bytes());
    return ids;
  }

  const std::shared_ptr<const CudaGraph> graph_;
  const SampleOptions options_;
  const CudaWork work_;
  std::vector<int64_t> seeds_;
  CudaHop hop_;
};

CudaSampler::CudaSampler(std::shared_ptr<const CudaGraph> graph,
                         SampleOptions options,
                         std::shared_ptr<BufferPool> pool,
                         CudaStreamHandle stream) {
  check(options, *graph->graph());
  engine_ = std::make_unique<Engine>(std::move(graph), std::move(options), std::move(pool), stream);
}

CudaSampler::~CudaSampler() = default;

Minibatch CudaSampler::sample(int seed_type,
                              std::span<const int64_t> seeds,
                              uint64_t epoch,
                              uint64_t step,
                              const std::atomic<bool>* stop) {
  return engine_->sample(seed_type, seeds, epoch, step, stop);
}

}  // namespace ramet
