// LoaderParts: what a NeighborLoader and all its streams share. Immutable, but for the pools and
// the statistics, which any thread may use.
#pragma once

#include <memory>

#include "batch_plan.h"
#include "batch_rows.h"
#include "device_side.h"
#include "node_seeds.h"
#include "ramet/loader.h"
#include "stats.h"

namespace ramet {

struct LoaderParts {
  std::shared_ptr<const Graph> graph;
  LoaderOptions options;
  NodeSeeds seeds;
  std::shared_ptr<const BatchPlan> plan;  // of epochs
  std::shared_ptr<BufferPool> pool;       // of the host, page-locked where there is a device
  int max_threads = 1, max_prefetch = 1;
  std::shared_ptr<const DeviceSide> device_side = nullptr;  // nullptr: host batches
  RowSources sources = {};                                  // by LoaderOptions::tables
  mutable LoaderStats stats = {};
};

}  // namespace ramet
