// Batches that ranks make together: the group's thread samples them, any thread fetches the rows of
// this rank's nodes.
#pragma once

#include <memory>
#include <optional>

#include "batch_source.h"
#include "ramet/cooperative_loader.h"
#include "sampling/cooperative_sampler.h"

namespace ramet {

// What the sources of a CooperativeLoader share. The sampler belongs to the group's thread.
struct CooperativeParts {
  CooperativeParts(std::shared_ptr<const LoaderParts> its_loader, Membership its_membership);

  const std::shared_ptr<const LoaderParts> loader;
  const Membership membership;
  const int threads;  // which work on one batch
  CooperativeSampler sampler;
};

class CooperativeBatchSource final : public BatchSource {
 public:
  // `exchange`: of a source that samples, in the group's thread.
  explicit CooperativeBatchSource(std::shared_ptr<CooperativeParts> parts, Exchange exchange = {});

  // To its end, whatever `stop` says: the other ranks wait for this one.
  void sample(Batch& batch, const std::atomic<bool>& stop) override;
  void fetch(Batch& batch, BatchReads* reads, const std::atomic<bool>& stop) override;

 private:
  const std::shared_ptr<CooperativeParts> parts_;
  const Exchange exchange_;
};

// Begins to sample the batch, as CooperativeSampler does. Of nodes it leaves those in
// batch.input_id that this rank owns; of pairs all are this rank's.
[[nodiscard]] std::optional<Message> begin_sampling(CooperativeParts& parts, Batch& batch);
// When that is complete.
void end_sampling(CooperativeParts& parts, Batch& batch);

}  // namespace ramet
