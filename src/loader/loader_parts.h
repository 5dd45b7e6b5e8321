// LoaderParts: what a NeighborLoader and all its streams share. Immutable, but for the pools and
// the statistics, which any thread may use.
#pragma once

#include <memory>

#include "loader/pipeline/stats.h"
#include "loader/seeds/batch_plan.h"
#include "loader/seeds/seed_source.h"
#include "loader/sources/device_side.h"
#include "loader/sources/host_side.h"
#include "ramet/loader.h"

namespace ramet {

struct LoaderParts {
  std::shared_ptr<const Graph> graph;
  LoaderOptions options;
  std::shared_ptr<const SeedSource> seeds;
  std::shared_ptr<const BatchPlan> plan;  // of epochs
  std::shared_ptr<BufferPool> pool;       // of the host, page-locked where there is a device
  int max_threads = 1, max_prefetch = 1;
  std::shared_ptr<const DeviceSide> device_side = nullptr;  // nullptr: host batches
  HostSide host = {};
  mutable LoaderStats stats = {};
};

}  // namespace ramet
