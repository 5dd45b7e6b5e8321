#include "ramet/cooperative_loader.h"

#include <span>
#include <utility>
#include <vector>

#include "loader/loader_parts.h"
#include "loader/pipeline/batch_stream.h"
#include "loader/pipeline/clock.h"
#include "loader/rows/table_reads.h"
#include "loader/sources/cooperative_batch_source.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// That samples, in the group's thread, where there is an exchange; else fetches.
std::unique_ptr<BatchSource> source_of(const std::shared_ptr<CooperativeParts>& parts,
                                       const Exchange& exchange) {
  if (!exchange && parts->loader->device_side != nullptr) return make_device_source(parts->loader);
  return std::make_unique<CooperativeBatchSource>(parts, exchange);
}

}  // namespace

CooperativeLoader::CooperativeLoader(const NeighborLoader& loader, Membership membership)
    : loader_(loader.parts()) {
  require_none_pulled(*loader_);
  if (loader_->device_side != nullptr && !loader_->options.cooperative.membership)
    throw_invalid("batches are made on device ", loader_->device_side->device(),
                  ", by a loader that does not know that ranks cooperate");
  parts_ = std::make_shared<CooperativeParts>(loader_, std::move(membership));
}

std::unique_ptr<EpochStream> CooperativeLoader::start(int64_t epoch,
                                                      int64_t first_step,
                                                      std::shared_ptr<GroupThread> thread) const {
  const auto make_source = [parts = parts_](const Exchange& exchange) {
    return source_of(parts, exchange);
  };
  return start_stream(loader_, {loader_->plan, epoch, first_step}, make_source, std::move(thread),
                      GroupWork::kSample);
}

std::optional<Message> CooperativeLoader::begin(int64_t epoch, int64_t step) {
  const int64_t steps = loader_->plan->num_steps();
  if (epoch < 0 || step < 0 || step >= steps)
    throw_error(ErrorCode::kOutOfRange, "epoch ", epoch, ", step ", step, " is none of the ", steps,
                " of an epoch");
  batch_ = {};
  begin_batch(*loader_->seeds, *loader_->plan, epoch, step, *loader_->pool, batch_);
  const AddSeconds timer(batch_.timings.sample_seconds);
  return begin_sampling(*parts_, batch_);
}

std::optional<Message> CooperativeLoader::receive(const Message& from_ranks) {
  const AddSeconds timer(batch_.timings.sample_seconds);
  return parts_->sampler.receive(from_ranks);
}

Batch CooperativeLoader::finish() {
  end_sampling(*parts_, batch_);
  {
    const AddSeconds timer(batch_.timings.gather_seconds);
    fetch_alone(loader_, *source_of(parts_, {}),
                {.pool = loader_->pool, .threads = parts_->threads}, batch_);
  }
  return std::move(batch_);
}

const std::shared_ptr<const Graph>& CooperativeLoader::graph() const {
  return loader_->graph;
}

std::shared_ptr<const CudaGraph> CooperativeLoader::cuda_graph() const {
  return loader_->device_side == nullptr ? nullptr : loader_->device_side->graph();
}

std::shared_ptr<DevicePool> CooperativeLoader::device_pool() const {
  return loader_->device_side == nullptr ? nullptr : loader_->device_side->pool();
}

}  // namespace ramet
