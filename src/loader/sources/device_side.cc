#include "device_side.h"

#include <algorithm>
#include <new>
#include <string>

#include "device/device_memory.h"
#include "loader/rows/batch_rows.h"
#include "loader/rows/cached_edges.h"
#include "ramet/error.h"
#include "tables/device/placement_plan.h"

namespace ramet {
namespace {

int64_t bytes_for_copies(const DeviceOptions& options) {
  if (options.copy_bytes >= 0) return options.copy_bytes;
  return cuda_free_bytes(options.index) / 2;
}

std::string why_cpu_samples(const LoaderOptions& options) {
  const auto& tables = options.device.tables;
  if (std::any_of(tables.begin(), tables.end(), reads_ahead) || !options.prefetch_hints.empty())
    return "rows are read from a disk, for which the CPU samples";
  return ramet::why_cpu_samples(options.sample);
}

Location wanted_for_topology(Location wanted, const std::string& why_cpu) {
  if (why_cpu.empty() || wanted == Location::kStaged) return wanted;
  if (wanted == Location::kAuto) return Location::kStaged;
  throw_invalid(why_cpu, ": the topology's placement is '", name(wanted),
                "', expected 'auto' or 'staged'");
}

// Reading in place always beats sampling on the CPU, where it can be.
ReadingRates topology_rates(const std::shared_ptr<const Graph>& graph,
                            int device,
                            const Progress& progress) {
  try {
    return {.in_place = 1, .kept = CudaGraph::create(graph, device, Location::kInPlace, progress)};
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    return {.staged = 1, .refusal = error.what()};
  }
}

// Where the user leaves the topology's placement to us, or gives memory for copies.
bool may_copy_edges(const DeviceOptions& options) {
  return options.topology == Location::kAuto || options.copy_bytes >= 0;
}

// Of `topology`, in place, what `bytes` hold. `decision` says what became of it.
std::shared_ptr<const CudaGraph> with_copies(const std::shared_ptr<const CudaGraph>& topology,
                                             int64_t bytes,
                                             PlacementDecision& decision) {
  if (bytes <= 0) return topology;
  try {
    auto graph =
        CudaGraph::with_copies(topology, [&] { return hottest_edges(*topology->graph(), bytes); });
    if (graph != topology)
      decision.why += "; in-edges that are read most have copies on the device";
    return graph;
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    decision.why += concat("; no copies of in-edges: ", error.what());
  } catch (const std::bad_alloc&) {
    decision.why += "; no copies of in-edges: no memory to count which are read most";
  }
  return topology;
}

// The graph's rows stay as they are. Those of a writable table may be written between batches.
bool may_change(const TableRequest& request) {
  return request.table() != nullptr && request.table()->rows().writable;
}

// Why a device cannot read a table of the host in place; empty where it may.
std::string why_staged(const TableRequest& request) {
  return request.positions() == nullptr ? "" : "its pieces have gaps between them, without memory";
}

// Why the rate of reading a table of the host in place is not to be measured; empty where it is.
std::string why_not_measured(const TableRequest& request) {
  if (request.fused) return "processors average the rows of its sources";
  return why_staged(request);
}

void check_wanted(const TableRequest& request, Location wanted) {
  if (request.cached() != nullptr && (wanted == Location::kStaged || request.fused))
    throw_invalid("rows of '", request.name, "' are cached on the device, but processors would ",
                  request.fused ? "average them: expected no features.fuse"
                                : "read them: the placement is 'staged', expected 'in_place'",
                  ", or table.cache(None)");
  const std::string why = why_staged(request);
  if (wanted == Location::kInPlace && !why.empty())
    throw_invalid("the placement of '", request.name, "' is 'in_place', but ", why,
                  ": expected 'auto' or 'staged'");
}

// The rows of a table in place that its device cache holds.
Array cached_rows(const std::shared_ptr<const Graph>& graph,
                  const DeviceSideOptions& side,
                  const TableRequest& request) {
  const DeviceOptions& options = side.loader.device;
  if (request.cached() != nullptr) return request.cached()->cached;
  if (options.cache_rows == 0 || !request.is_of_nodes() || may_change(request)) return {};
  const CacheBy by = options.cache_by == CacheBy::kAuto ? CacheBy::kDegree : options.cache_by;
  const NodeUses uses =
      count_uses(graph, side.loader, side.seeds, side.num_steps, request.node_type, by);
  return hottest_rows_of(*graph, side.loader, request, uses, options.cache_rows);
}

std::unique_ptr<const DevicePositions> positions_of(const TableRequest& request, int device) {
  const RowPositions* const positions = request.positions();
  return positions == nullptr ? nullptr
                              : std::make_unique<const DevicePositions>(*positions, device);
}

}  // namespace

std::shared_ptr<const DeviceSide> DeviceSide::create(const std::shared_ptr<const Graph>& graph,
                                                     const DeviceSideOptions& options) {
  const LoaderOptions& loader = options.loader;
  const DeviceOptions& device = loader.device;
  std::shared_ptr<DeviceSide> side(new DeviceSide(device.index));
  PlacementPlan plan(bytes_for_copies(device));
  std::shared_ptr<const void> kept;  // page-locking a large table twice would take long
  const auto decide = [&](const std::string& name, int64_t bytes, Location wanted,
                          const std::function<ReadingRates()>& measure, bool changes = false) {
    const auto measured = [&] {
      const ReadingRates rates = measure();
      kept = rates.kept;
      return rates;
    };
    side->placement_.push_back(plan.decide(name, bytes, wanted, measured, changes));
    return side->placement_.back().placement;
  };

  const std::string why_cpu = why_cpu_samples(loader);
  const Location topology = decide("topology", CudaGraph::bytes_on_device(*graph, loader.sample),
                                   wanted_for_topology(device.topology, why_cpu), [&] {
                                     return topology_rates(graph, device.index, options.progress);
                                   });
  if (device.topology == Location::kAuto && !why_cpu.empty()) side->placement_.back().why = why_cpu;
  if (topology != Location::kStaged)
    side->graph_ = CudaGraph::create(graph, device.index, topology, options.progress);
  if (topology == Location::kInPlace) plan.take(CudaGraph::bytes_of_bounds(*graph));
  for (size_t i = 0; i < loader.tables.size(); ++i) {
    if (is_on_host_side(loader, i)) {
      side->positions_.emplace_back();
      side->placement_.push_back(options.host.placement[i]);
      side->sources_.emplace_back();
      continue;
    }
    const TableRequest& request = loader.tables[i];
    const Table table = table_of(*graph, request);
    const bool is_there = table.rows().device != kHost;
    const bool is_cached = request.cached() != nullptr;
    Location wanted = device.tables.empty() ? Location::kAuto : device.tables.at(i);
    if (is_cached && wanted == Location::kAuto) wanted = Location::kInPlace;
    RowSourceOptions source{.decode = loader.decode,
                            .as_bfloat16 = request.as_bfloat16,
                            .device = device.index,
                            .progress = options.progress};
    side->positions_.push_back(is_there ? positions_of(request, device.index) : nullptr);
    if (is_there) {
      source.placement = wanted == Location::kAuto ? Location::kInPlace : wanted;
      side->placement_.push_back(
          {request.name, source.placement, bytes_of(table), "lies on the device"});
      side->sources_.push_back(make_row_source(table, source));
      continue;
    }
    check_wanted(request, wanted);
    const auto measure = [&] {
      if (const std::string why = why_not_measured(request); !why.empty())
        return ReadingRates{.staged = 1, .refusal = why};
      return measure_reading(table, *side->pool_, options.pinned,
                             {loader.decode, options.threads, device.max_sms, device.order});
    };
    source.placement = decide(request.name, bytes_of(table), wanted, measure, may_change(request));
    if (source.placement == Location::kInPlace)
      source.cached = cached_rows(graph, options, request);
    if (is_cached) {
      source.cached_rows = request.cached()->cached_rows;
      side->placement_.back().why = "has rows cached on devices";
    }
    side->sources_.push_back(
        place_rows(table, source, wanted == Location::kAuto, side->placement_.back()));
    if (side->placement_.back().placement == Location::kInPlace && source.cached.rows() > 0)
      plan.take((is_cached ? 0 : source.cached.rows() * table.rows().row_bytes()) +
                4 * table.rows().rows());
  }
  if (topology == Location::kInPlace && may_copy_edges(device))
    side->graph_ = with_copies(side->graph_, plan.left(), side->placement_.front());
  if (topology == Location::kDevice && !loader.cooperative.membership)
    side->place_negatives(loader, plan.left());
  return side;
}

void DeviceSide::place_negatives(const LoaderOptions& options, int64_t bytes) {
  std::string& why = placement_.front().why;
  const auto say = [&](const std::string& what) {  // once for all inputs
    if (why.find(what) == std::string::npos) why += what;
  };
  for (const InputEdges& edges : options.links) {
    negatives_.emplace_back();
    if (!edges.negatives || edges.negatives->given.data != nullptr) continue;
    const NegativeOptions& drawn = edges.negatives->options;
    const int64_t needed = CudaNegatives::bytes_on_device(drawn, *graph_->graph());
    if (const int64_t left = std::max<int64_t>(bytes, 0); needed > left) {
      say(concat("; processors draw negatives: ", needed, " bytes do not fit into ", left));
      continue;
    }
    try {
      negatives_.back() = std::make_unique<const CudaNegatives>(drawn, device_);
      bytes -= needed;
      say("; the device draws negatives");
    } catch (const Error& error) {
      if (!is_refusal(error)) throw;
      say(concat("; processors draw negatives: ", error.what()));
    }
  }
}

}  // namespace ramet
