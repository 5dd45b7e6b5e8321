// DeviceSide: what a loader has on its device: the topology and the tables, each in the place that
// was decided on, and the pool of batches. Immutable; one per loader, shared by its threads.
#pragma once

#include <memory>
#include <vector>

#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/cuda_table.h"
#include "ramet/loader.h"

namespace ramet {

class DeviceSide {
 public:
  // Decides, copies and registers. `loader` is complete but for this.
  [[nodiscard]] static std::shared_ptr<const DeviceSide> create(const NeighborLoader& loader);

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] const std::shared_ptr<DevicePool>& pool() const { return pool_; }
  // nullptr where processors sample.
  [[nodiscard]] const std::shared_ptr<const CudaGraph>& graph() const { return graph_; }
  // Of LoaderOptions::tables[i]; nullptr where processors gather.
  [[nodiscard]] const CudaTable* table(size_t i) const { return tables_[i].get(); }
  [[nodiscard]] const std::vector<PlacedTable>& placement() const { return placement_; }

 private:
  explicit DeviceSide(int device) : device_(device), pool_(DevicePool::create(device)) {}

  int device_;
  std::shared_ptr<DevicePool> pool_;
  std::shared_ptr<const CudaGraph> graph_;
  std::vector<std::unique_ptr<const CudaTable>> tables_;
  std::vector<PlacedTable> placement_;
};

}  // namespace ramet
