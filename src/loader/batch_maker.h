// BatchMaker: makes single batches, for one thread.
#pragma once

#include <atomic>
#include <memory>

#include "ramet/loader.h"

namespace ramet {

class BatchMaker {
 public:
  virtual ~BatchMaker() = default;

  // Once `stop` is set it returns early, and the batch is meaningless.
  [[nodiscard]] virtual Batch make(int64_t step, const std::atomic<bool>& stop) = 0;
};

// On the processor, or on the loader's device. `loader` must outlive it.
[[nodiscard]] std::unique_ptr<BatchMaker> make_batch_maker(const NeighborLoader& loader,
                                                           int64_t epoch);

// A batch of which nothing is known but its place in the epoch.
[[nodiscard]] Batch empty_batch(const NeighborLoader& loader, int64_t epoch, int64_t step);

}  // namespace ramet
