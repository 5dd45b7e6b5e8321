#include "device_side.h"

#include <algorithm>
#include <string>
#include <utility>

#include "gather_table.h"
#include "hot_rows.h"
#include "kernels/cuda_backend.h"
#include "placement.h"
#include "ramet/error.h"
#include "reading_rates.h"

namespace ramet {
namespace {

constexpr int64_t kPresampledSteps = 20;

int64_t bytes_for_copies(const DeviceOptions& options) {
  if (options.copy_bytes >= 0) return options.copy_bytes;
  return require_cuda().runtime.describe(options.device).free_bytes / 2;
}

Placement wanted_for_table(const DeviceOptions& options, size_t i) {
  return options.tables.empty() ? Placement::kAuto : options.tables.at(i);
}

// Reading in place always beats sampling on the CPU, where it can be.
ReadingRates topology_rates(const std::shared_ptr<const Graph>& graph, int device) {
  try {
    return {1, 0, "", CudaGraph::create(graph, device, CudaTopology::kInPlace)};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInvalidArgument) throw;
    return {0, 1, error.what(), nullptr};
  }
}

Array as_array(const std::vector<int64_t>& ids) {
  return copy(borrow(std::span<const int64_t>(ids)));
}

// The rows of a table in place that its cache shall hold.
Array cached_rows(const NeighborLoader& loader, const TableRequest& request) {
  const DeviceOptions& options = loader.options().on;
  if (options.cache_rows == 0 || request.at_seeds || request.is_of_edges()) return {};
  return as_array(
      options.cache_by == CacheBy::kDegree
          ? rows_by_degree(*loader.graph(), request.node_type, options.cache_rows)
          : rows_by_presampling(loader, request.node_type, options.cache_rows, kPresampledSteps));
}

std::unique_ptr<const CudaTable> place_table(const NeighborLoader& loader,
                                             const TableRequest& request,
                                             Placement placement) {
  if (placement == Placement::kStaged) return nullptr;
  CudaTableOptions options{
      .device = loader.options().on.device, .placement = CudaPlacement::kDevice, .cached = {}};
  if (placement == Placement::kInPlace) {
    options.placement = CudaPlacement::kInPlace;
    options.cached = cached_rows(loader, request);
  }
  return std::make_unique<const CudaTable>(table_of(loader, request), options);
}

int64_t bytes_of(const Table& table) {
  return table.rows().bytes() + (table.has_scale() ? table.scale().bytes() : 0);
}

}  // namespace

std::shared_ptr<const DeviceSide> DeviceSide::create(const NeighborLoader& loader) {
  const DeviceOptions& options = loader.options().on;
  std::shared_ptr<DeviceSide> side(new DeviceSide(options.device));
  PlacementPlan plan(bytes_for_copies(options));
  std::shared_ptr<const void> kept;  // page-locking a large table twice would take long
  const auto decide = [&](const std::string& name, int64_t bytes, Placement wanted,
                          const std::function<ReadingRates()>& measure) {
    side->placement_.push_back(plan.place(name, bytes, wanted, [&] {
      const ReadingRates rates = measure();
      kept = rates.kept;
      return rates;
    }));
    return side->placement_.back().placement;
  };

  const Placement topology =
      decide("topology", CudaGraph::bytes_on_device(*loader.graph()), options.topology,
             [&] { return topology_rates(loader.graph(), options.device); });
  if (topology != Placement::kStaged) {
    const bool copied = topology == Placement::kDevice;
    side->graph_ = CudaGraph::create(loader.graph(), options.device,
                                     copied ? CudaTopology::kDevice : CudaTopology::kInPlace);
  }
  for (size_t i = 0; i < loader.options().tables.size(); ++i) {
    const TableRequest& request = loader.options().tables[i];
    const Placement placement =
        decide(request.name, bytes_of(table_of(loader, request)), wanted_for_table(options, i),
               [&] { return measure_reading(loader, request, *side->pool_); });
    side->tables_.push_back(place_table(loader, request, placement));
  }
  return side;
}

}  // namespace ramet
