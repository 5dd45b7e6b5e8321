#include "cooperative_batch_source.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ramet {

CooperativeParts::CooperativeParts(std::shared_ptr<const LoaderParts> its_loader,
                                   Membership its_membership,
                                   int64_t cache_rows)
    : loader(std::move(its_loader)),
      membership(std::move(its_membership)),
      threads(std::max(loader->options.threads, 1)),
      sources(host_sources(*loader->graph, loader->options, cache_rows)),
      sampler(loader->graph, loader->options.sample, membership, loader->pool, threads) {}

CooperativeBatchSource::CooperativeBatchSource(std::shared_ptr<CooperativeParts> parts,
                                               Exchange exchange)
    : parts_(std::move(parts)), exchange_(std::move(exchange)) {}

void CooperativeBatchSource::sample(Batch& batch, const std::atomic<bool>& /*stop*/) {
  auto message = begin_sampling(*parts_, batch);
  while (message)
    message = parts_->sampler.receive(exchange_(*message));
  batch.minibatch = parts_->sampler.take();
}

void CooperativeBatchSource::fetch(Batch& batch, const std::atomic<bool>& stop) {
  const LoaderParts& loader = *parts_->loader;
  gather_tables(*loader.graph, loader.options.tables, parts_->sources,
                {.pool = loader.pool, .threads = parts_->threads}, &stop, batch);
}

std::optional<Message> begin_sampling(CooperativeParts& parts, const Batch& batch) {
  const NodeSeeds& seeds = parts.loader->seeds;
  const Ownership& owners = parts.membership.owners[static_cast<size_t>(seeds.node_type)];
  std::vector<int64_t> nodes = seeds.nodes(batch.epoch, batch.step);
  std::erase_if(nodes, [&](int64_t node) { return owners.owner(node) != parts.membership.rank; });
  return parts.sampler.start(seeds.node_type, nodes, static_cast<uint64_t>(batch.epoch),
                             static_cast<uint64_t>(batch.step));
}

}  // namespace ramet
