// Batches in the memory of a device.
#pragma once

#include <memory>

#include "batch_maker.h"

namespace ramet {

// `loader` has a device side, and must outlive it.
[[nodiscard]] std::unique_ptr<BatchMaker> make_device_batch_maker(const NeighborLoader& loader,
                                                                  int64_t epoch);

// The streams that use the arrays of a batch of a device; see DevicePool::set_users().
void set_users(const Batch& batch, const std::vector<CudaStreamHandle>& streams);

}  // namespace ramet
