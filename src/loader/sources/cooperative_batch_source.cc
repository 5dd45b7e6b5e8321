#include "cooperative_batch_source.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "layer_work.h"
#include "loader/loader_parts.h"
#include "loader/rows/table_reads.h"

namespace ramet {
namespace {

// Leaves the seeds that this rank owns, and in `input_id` their positions.
void keep_owned(const Membership& membership, SeedList& seeds, Array& input_id, BufferPool& pool) {
  const auto positions = input_id.as<int64_t>();
  std::vector<int64_t> kept;
  size_t at = 0;
  for (auto& [type, ids, times] : seeds.types) {
    const Ownership& owners = membership.owners[static_cast<size_t>(type)];
    const size_t times_of_one = ids.empty() ? 0 : times.size() / ids.size();
    size_t count = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t position = positions[at++];
      if (owners.owner(ids[i]) != membership.rank) continue;
      std::copy_n(times.begin() + static_cast<long>(i * times_of_one), times_of_one,
                  times.begin() + static_cast<long>(count * times_of_one));
      ids[count++] = ids[i];
      kept.push_back(position);
    }
    ids.resize(count);
    times.resize(count * times_of_one);
  }
  input_id = copy(borrow(std::span<const int64_t>(kept)), pool);
}

// Numbers the ends of pairs as their rows arrive after the last layer.
void renumber(const CooperativeSampler& sampler, const InputEdges& edges, const Links& links) {
  auto* end = static_cast<int64_t*>(links.edge_label_index.data);
  for (const int type : {edges.src, edges.dst}) {
    const auto positions = sampler.positions_of_seeds(type);
    for (int64_t i = 0; i < links.edge_label_index.shape[1]; ++i, ++end)
      *end = positions[static_cast<size_t>(*end)];
  }
}

DrawingDevice device_of(const LoaderParts& loader) {
  if (loader.device_side == nullptr) return {};
  return {.graph = loader.device_side->graph(),
          .pool = loader.device_side->pool(),
          .order = loader.options.device.order};
}

}  // namespace

CooperativeParts::CooperativeParts(std::shared_ptr<const LoaderParts> its_loader,
                                   Membership its_membership)
    : loader(std::move(its_loader)),
      membership(std::move(its_membership)),
      threads(std::max(loader->options.threads, 1)),
      sampler(loader->graph,
              loader->options.sample,
              membership,
              loader->pool,
              threads,
              device_of(*loader)) {}

CooperativeBatchSource::CooperativeBatchSource(std::shared_ptr<CooperativeParts> parts,
                                               Exchange exchange)
    : parts_(std::move(parts)), exchange_(std::move(exchange)) {}

void CooperativeBatchSource::sample(Batch& batch, const std::atomic<bool>& /*stop*/) {
  auto message = begin_sampling(*parts_, batch);
  while (message)
    message = parts_->sampler.receive(exchange_(*message));
  end_sampling(*parts_, batch);
}

void CooperativeBatchSource::fetch(Batch& batch, BatchReads* reads, const std::atomic<bool>& stop) {
  const LoaderParts& loader = *parts_->loader;
  complete(reads, loader, {.pool = loader.pool, .threads = parts_->threads}, stop, batch);
  work_for_layers(loader, stop, parts_->threads, batch);
}

std::optional<Message> begin_sampling(CooperativeParts& parts, Batch& batch) {
  SeedList seeds = parts.loader->seeds->take(batch);
  const auto epoch = static_cast<uint64_t>(batch.epoch), step = static_cast<uint64_t>(batch.step);
  if (batch.links.empty()) {
    keep_owned(parts.membership, seeds, batch.input_id, *parts.loader->pool);
    return parts.sampler.start(seeds.view(), epoch, step);
  }
  return parts.sampler.ask(seeds.view(), epoch, step, seeds.view_excluded());
}

void end_sampling(CooperativeParts& parts, Batch& batch) {
  batch.minibatch = parts.sampler.take();
  for (size_t k = 0; k < batch.links.size(); ++k)
    renumber(parts.sampler, parts.loader->options.links[k], batch.links[k]);
}

}  // namespace ramet
