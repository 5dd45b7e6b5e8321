// BatchMaker: what one thread needs to make any batch of an epoch. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "ramet/loader.h"

namespace ramet {

class BatchMaker {
 public:
  // `loader` must outlive it.
  BatchMaker(const NeighborLoader& loader, int64_t epoch);

  // Once `stop` is set it returns early, and the batch is meaningless.
  Batch make(int64_t step, const std::atomic<bool>& stop);

 private:
  const NeighborLoader& loader_;
  int64_t epoch_;
  NeighborSampler sampler_;
};

}  // namespace ramet
