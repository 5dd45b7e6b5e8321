// DeviceSide: what a loader has on its device: the topology and the tables, each where the
// placement plan puts it, and the pool of batches. Immutable; shared by a loader's threads.
#pragma once

#include <memory>
#include <vector>

#include "loader/rows/cached_nodes.h"
#include "loader/sources/host_side.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "sampling/links/cuda_negatives.h"
#include "tables/device/device_positions.h"
#include "tables/row_source.h"

namespace ramet {

// What a device side is made for.
struct DeviceSideOptions {
  const LoaderOptions& loader;
  const HostSide& host;                // the tables that processors read
  int threads = 1;                     // of the loader, at most
  std::shared_ptr<BufferPool> pinned;  // page-locked
  SeedsOfStep seeds;                   // of the steps below num_steps
  int64_t num_steps = 0;
  const Progress& progress;  // of page-locking
};

class DeviceSide {
 public:
  // Decides, copies and registers.
  [[nodiscard]] static std::shared_ptr<const DeviceSide> create(
      const std::shared_ptr<const Graph>& graph, const DeviceSideOptions& options);

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] const std::shared_ptr<DevicePool>& pool() const { return pool_; }
  // nullptr where processors sample.
  [[nodiscard]] const std::shared_ptr<const CudaGraph>& graph() const { return graph_; }
  // By LoaderOptions::tables; nullptr: of the host side.
  [[nodiscard]] const std::vector<std::shared_ptr<const RowSource>>& sources() const {
    return sources_;
  }
  // Where rows of table i lie; nullptr where their positions are their ids.
  [[nodiscard]] const DevicePositions* positions(size_t i) const { return positions_[i].get(); }
  // By LoaderOptions::links; nullptr: processors draw these. Empty: they draw all.
  [[nodiscard]] const std::vector<std::unique_ptr<const CudaNegatives>>& negatives() const {
    return negatives_;
  }
  // Of the topology, then of each table.
  [[nodiscard]] const std::vector<PlacementDecision>& placement() const { return placement_; }

 private:
  explicit DeviceSide(int device) : device_(device), pool_(DevicePool::create(device)) {}

  // Those that fit into `bytes`. The topology's decision says what became of them.
  void place_negatives(const LoaderOptions& options, int64_t bytes);

  int device_;
  std::shared_ptr<DevicePool> pool_;
  std::shared_ptr<const CudaGraph> graph_;
  std::vector<std::shared_ptr<const RowSource>> sources_;
  std::vector<std::unique_ptr<const DevicePositions>> positions_;
  std::vector<std::unique_ptr<const CudaNegatives>> negatives_;
  std::vector<PlacementDecision> placement_;
};

}  // namespace ramet
