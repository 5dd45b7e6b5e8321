#include "cooperative_batch_source.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "layer_work.h"
#include "table_reads.h"

namespace ramet {

CooperativeParts::CooperativeParts(std::shared_ptr<const LoaderParts> its_loader,
                                   Membership its_membership)
    : loader(std::move(its_loader)),
      membership(std::move(its_membership)),
      threads(std::max(loader->options.threads, 1)),
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

void CooperativeBatchSource::fetch(Batch& batch, BatchReads* reads, const std::atomic<bool>& stop) {
  const LoaderParts& loader = *parts_->loader;
  complete(reads, loader, {.pool = loader.pool, .threads = parts_->threads}, stop, batch);
  work_for_layers(loader, stop, parts_->threads, batch);
}

std::optional<Message> begin_sampling(CooperativeParts& parts, Batch& batch) {
  const SeedList seeds = parts.loader->seeds->take(batch);
  const auto& [type, all, times] = seeds.types.front();
  const Ownership& owners = parts.membership.owners[static_cast<size_t>(type)];
  const auto positions = batch.input_id.as<int64_t>();
  std::vector<int64_t> nodes, own_positions;
  for (size_t i = 0; i < all.size(); ++i) {
    if (owners.owner(all[i]) != parts.membership.rank) continue;
    nodes.push_back(all[i]);
    own_positions.push_back(positions[i]);
  }
  batch.input_id = copy(borrow(std::span<const int64_t>(own_positions)), *parts.loader->pool);
  return parts.sampler.start(type, nodes, static_cast<uint64_t>(batch.epoch),
                             static_cast<uint64_t>(batch.step));
}

}  // namespace ramet
