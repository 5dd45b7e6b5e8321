#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/per_process.h"
#include "base/system/space.h"
#include "device/device_memory.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// An array where the device reads it: its own copy, or the registered memory of the host.
class Placed {
 public:
  static Placed in_place(const Array& array, int device, const Progress& progress = {}) {
    require_memory_to_hold(array, "page-locking the topology");
    Placed placed;
    placed.registration_ = HostRegistration(array, {.progress = progress});
    placed.address_ = placed.registration_.address(device);
    return placed;
  }
  static Placed copied(const Array& array, const CudaStream& stream) {
    const CudaRuntime& runtime = require_cuda().runtime;
    Placed placed;
    if (array.bytes() == 0) return placed;
    placed.copy_ = allocate_on(stream.device(), array.bytes());
    placed.address_ = placed.copy_.get();
    runtime.copy(stream.device(), placed.copy_.get(), array.data, array.bytes(), stream.handle());
    return placed;
  }
  [[nodiscard]] const void* address() const { return address_; }

 private:
  HostRegistration registration_;
  std::shared_ptr<void> copy_;
  const void* address_ = nullptr;
};

class PlacedGraph final : public CudaGraph {
 public:
  PlacedGraph(std::shared_ptr<const Graph> graph,
              int device,
              Location placement,
              const Progress& progress)
      : graph_(std::move(graph)), device_(device), placement_(placement) {
    edge_ids_.resize(graph_->edge_types().size());
    if (placement != Location::kInPlace && placement != Location::kDevice)
      throw_invalid("topology is '", name(placement), "', expected 'device' or 'in_place'");
    const CudaStream stream(device);
    for (const EdgeType& edges : graph_->edge_types())
      indices_.push_back(placement == Location::kInPlace
                             ? Placed::in_place(edges.indices, device, progress)
                             : Placed::copied(edges.indices, stream));
    // A row's bounds would be as many requests of the bus as half of its picks.
    for (const EdgeType& edges : graph_->edge_types())
      indptr_.push_back(Placed::copied(edges.indptr, stream));
    stream.synchronize();
  }
  PlacedGraph(const PlacedGraph&) = delete;
  PlacedGraph& operator=(const PlacedGraph&) = delete;

  // Kernels may still read what dies with it.
  ~PlacedGraph() override {
    try {
      require_cuda().runtime.synchronize_all(device_);
    } catch (const Error&) {
      // A kernel's own failure, or a forked child, to which nothing here belongs.
    }
  }

  const std::shared_ptr<const Graph>& graph() const override { return graph_; }
  int device() const override { return device_; }
  Location placement() const override { return placement_; }
  const int64_t* indptr(size_t edge_type) const override {
    return static_cast<const int64_t*>(indptr_[edge_type].address());
  }
  const void* indices(size_t edge_type) const override { return indices_[edge_type].address(); }
  const int32_t* slots_of_copies(size_t /*edge_type*/) const override { return nullptr; }
  const void* copied_indices(size_t /*edge_type*/) const override { return nullptr; }

  // Placed when somebody asks: most never do.
  const void* edge_ids(size_t edge_type) const override {
    const EdgeType& edges = graph_->edge_types()[edge_type];
    if (!edges.has_edge_ids()) return nullptr;
    const std::lock_guard lock(mutex_);
    Placed& placed = edge_ids_[edge_type];
    if (placed.address() == nullptr) placed = Placed::in_place(edges.edge_ids, device_);
    return placed.address();
  }
  const void* table(const Array& array) const override {
    const std::lock_guard lock(mutex_);
    Placed& placed = tables_[array.data];
    if (placed.address() == nullptr) placed = place(array);
    return placed.address();
  }

 private:
  [[nodiscard]] Placed place(const Array& array) const {
    if (placement_ == Location::kInPlace) return Placed::in_place(array, device_);
    const CudaStream stream(device_);
    Placed copy = Placed::copied(array, stream);
    stream.synchronize();
    return copy;
  }

  const std::shared_ptr<const Graph> graph_;
  const int device_;
  const Location placement_;
  std::vector<Placed> indptr_, indices_;  // by edge type
  mutable std::mutex mutex_;
  mutable std::vector<Placed> edge_ids_;
  mutable std::map<const void*, Placed> tables_;
};

// What is alive in this process.
struct Shared {
  using Key = std::tuple<const Graph*, int, Location>;
  std::mutex mutex;
  std::map<Key, std::weak_ptr<const CudaGraph>> graphs;
};

}  // namespace

std::shared_ptr<const CudaGraph> CudaGraph::create(const std::shared_ptr<const Graph>& graph,
                                                   int device,
                                                   Location placement,
                                                   const Progress& progress) {
  static auto* const shared = new PerProcess<Shared>;
  Shared& all = shared->get();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.graphs, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<const CudaGraph>& known = all.graphs[{graph.get(), device, placement}];
  auto placed = known.lock();
  if (placed == nullptr) {
    placed = std::make_shared<const PlacedGraph>(graph, device, placement, progress);
    known = placed;
  }
  return placed;
}

int64_t CudaGraph::bytes_of_bounds(const Graph& graph) {
  int64_t bytes = 0;
  for (const EdgeType& edges : graph.edge_types())
    bytes += edges.indptr.bytes();
  return bytes;
}

int64_t CudaGraph::bytes_on_device(const Graph& graph, const SampleOptions& options) {
  int64_t bytes = 0;
  const auto add = [&](const auto& type, const std::string& name) {
    const auto table = type.tables.find(name);
    if (table != type.tables.end()) bytes += table->second.bytes();
  };
  for (const EdgeType& edges : graph.edge_types()) {
    bytes += edges.indptr.bytes() + edges.indices.bytes();
    add(edges, weight_table(options.method));
    if (options.time) add(edges, options.time->table);
  }
  for (const NodeType& nodes : graph.node_types())
    if (options.time) add(nodes, options.time->table);
  return bytes;
}

}  // namespace ramet
