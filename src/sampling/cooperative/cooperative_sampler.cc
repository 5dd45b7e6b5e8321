#include "sampling/cooperative_sampler.h"

#include <string>
#include <utility>

#include "cooperative_engine.h"
#include "ramet/error.h"

namespace ramet {
namespace {

std::unique_ptr<CudaFrontier> frontier_of(const SampleOptions& options,
                                          const std::shared_ptr<BufferPool>& pool,
                                          const DrawingDevice& device) {
  if (device.graph == nullptr) return nullptr;
  const std::string why_cpu = why_cpu_samples(options);
  if (!why_cpu.empty()) throw_invalid(why_cpu, ", not on a device");
  return std::make_unique<CudaFrontier>(device.graph, options, *device.pool, pool, device.order);
}

}  // namespace

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

CooperativeSampler::CooperativeSampler(const std::shared_ptr<const Graph>& graph,
                                       SampleOptions options,
                                       Membership membership,
                                       std::shared_ptr<BufferPool> pool,
                                       int threads,
                                       const DrawingDevice& device) {
  check(options, *graph);
  check(membership, *graph);
  const bool is_narrow = has_narrow_ids(*graph) && !options.disjoint;
  if (pool == nullptr) pool = BufferPool::shared();
  auto frontier = frontier_of(options, pool, device);
  HopOptions all{graph, std::move(options), std::move(pool), threads};
  if (is_narrow) {
    engine_ = std::make_unique<EngineFor<int32_t>>(std::move(all), std::move(membership),
                                                   std::move(frontier));
  } else {
    engine_ = std::make_unique<EngineFor<int64_t>>(std::move(all), std::move(membership),
                                                   std::move(frontier));
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

std::span<const int32_t> CooperativeSampler::positions_of_seeds(int type) const {
  return engine_->positions_of_seeds(type);
}

std::optional<Message> CooperativeSampler::receive(const Message& from_ranks) {
  return engine_->receive(from_ranks);
}

Minibatch CooperativeSampler::take() {
  return engine_->take();
}

}  // namespace ramet
