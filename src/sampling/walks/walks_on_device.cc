#include <memory>
#include <vector>

#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_sampler.h"
#include "ramet/error.h"
#include "ramet/walks.h"
#include "sampling/cuda/cuda_edge_rows.h"
#include "sampling/cuda/cuda_work.h"
#include "walk_rows.h"

namespace ramet {
namespace {

// What kernels read, and what keeps it.
struct PathOnDevice {
  std::vector<std::shared_ptr<const CudaGraph>> graphs;
  std::vector<CudaWalkEdges> edges;

  void add(const WalkEdges& walked, const EdgeType& type, bool edge_ids, int device) {
    graphs.push_back(CudaGraph::create(walked.graph, device, Location::kDevice));
    const CudaGraph& graph = *graphs.back();
    const bool has_ids = edge_ids && type.has_edge_ids();
    edges.push_back({.rows = edge_rows(graph, walked.edge_type, walked.weight_sums, walked.times),
                     .edge_ids = has_ids ? graph.table(type.edge_ids) : nullptr,
                     .wide_edge_ids = has_ids && type.edge_ids.dtype == DType::kInt64});
  }
};

void check(const Array& starts,
           const Array& numbers,
           const WalkOptions& options,
           const Walks& walks) {
  const int64_t count = starts.rows();
  const auto require = [&](const Array& array, std::vector<int64_t> shape, const char* what) {
    if (array.device != starts.device || array.dtype != DType::kInt64 || array.shape != shape)
      throw_invalid(what, " are ", array.describe(), " on device ", array.device,
                    ", which does not fit ", count, " starts on device ", starts.device);
  };
  require(starts, {count}, "starts");
  require(numbers, {count}, "numbers");
  require(walks.nodes, {count, options.length + 1}, "nodes");
  if (options.edge_ids) require(walks.edge_ids, {count, options.length}, "edge ids");
}

// The CPU's message, or what changed before the CPU looked.
[[noreturn]] void throw_as_host(std::span<const WalkEdges> metapath,
                                const Array& starts,
                                const WalkOptions& options,
                                const CudaWork& work) {
  std::vector<int64_t> on_host(static_cast<size_t>(starts.rows()));
  work.copy(on_host.data(), starts.data, starts.bytes());
  work.wait();
  (void)random_walks(metapath, on_host, options);
  if (metapath.size() > 1)
    throw_corrupt("the edges of the metapath", "changed while they were read");
  const WalkEdges& walked = metapath.front();
  const auto type = static_cast<size_t>(walked.edge_type);
  throw_corrupt(walked.graph->edge_types()[type].indices_location, "changed while it was read");
}

}  // namespace

void random_walks_on_device(std::span<const WalkEdges> metapath,
                            const Array& starts,
                            const Array& numbers,
                            const WalkOptions& options,
                            const Walks& walks,
                            CudaStreamHandle stream) {
  const std::vector<WalkRows> rows = checked_path(metapath, options);
  check(starts, numbers, options, walks);
  if (starts.rows() == 0) return;
  const int device = starts.device;
  const CudaWork work{device, stream, DevicePool::shared(device)->on(stream)};
  PathOnDevice path;
  for (size_t i = 0; i < rows.size(); ++i)
    path.add(metapath[i], rows[i].edges(), options.edge_ids, device);
  const auto bytes = std::ssize(path.edges) * int64_t{sizeof(CudaWalkEdges)};
  const auto on_device = work.pool->allocate(bytes);
  work.copy(on_device.get(), path.edges.data(), bytes);
  const Array report = work.allocate(DType::kInt64, 1);
  auto* const bad = static_cast<uint64_t*>(report.data);
  work.fill(bad, 0xff, report.bytes());
  require_cuda().walk(
      device,
      {.path = static_cast<const CudaWalkEdges*>(on_device.get()),
       .path_size = std::ssize(path.edges),
       .starts = static_cast<const int64_t*>(starts.data),
       .numbers = static_cast<const int64_t*>(numbers.data),
       .count = starts.rows(),
       .length = options.length,
       .seed = options.seed,
       .rules = rules_of(options),
       .nodes = static_cast<int64_t*>(walks.nodes.data),
       .edge_ids = options.edge_ids ? static_cast<int64_t*>(walks.edge_ids.data) : nullptr,
       .bad = bad},
      stream);
  if (work.read(bad) != kNoneBad) throw_as_host(metapath, starts, options, work);
}

}  // namespace ramet
