#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "device_array.h"
#include "gil.h"
#include "ramet/cuda_sampler.h"
#include "ramet/walks.h"

namespace ramet::bind {

namespace {

using PyWalkEdges = std::tuple<std::shared_ptr<const Graph>, int, std::string, std::string>;

// What random_walks_on_device() reads, kept on a device.
struct TopologyCopy {
  TopologyCopy(const std::shared_ptr<const Graph>& graph, int device)
      : copy(CudaGraph::create(graph, device, Location::kDevice)) {}
  std::shared_ptr<const CudaGraph> copy;
};

std::vector<WalkEdges> path_of(const std::vector<PyWalkEdges>& metapath) {
  std::vector<WalkEdges> path;
  for (const auto& [graph, edge_type, sums, times] : metapath)
    path.push_back({graph, edge_type, sums, times});
  return path;
}

void bind_random_walks(nb::module_& m) {
  nb::class_<WalkOptions>(m, "WalkOptions")
      .def(
          "__init__",
          [](WalkOptions* self, int64_t length, double restart, double stop,
             std::optional<std::pair<double, double>> node2vec, bool decreasing, bool edge_ids,
             uint64_t seed, int threads) {
            new (self) WalkOptions{.length = length,
                                   .restart = restart,
                                   .stop = stop,
                                   .decreasing = decreasing,
                                   .edge_ids = edge_ids,
                                   .seed = seed,
                                   .threads = threads};
            if (node2vec) self->node2vec = {node2vec->first, node2vec->second};
          },
          nb::arg("length"), nb::kw_only(), nb::arg("restart"), nb::arg("stop"),
          nb::arg("node2vec").none(), nb::arg("decreasing"), nb::arg("edge_ids"), nb::arg("seed"),
          nb::arg("threads"));

  // (nodes, edge ids or None). metapath: (graph, edge type, table of sums, table of times).
  m.def(
      "random_walks",
      [](const std::vector<PyWalkEdges>& metapath, std::span<const int64_t> starts,
         const WalkOptions& options) {
        const Walks walks = random_walks(path_of(metapath), starts, options);
        return std::tuple(walks.nodes, walks.edge_ids);
      },
      nb::arg("metapath"), nb::arg("starts"), nb::arg("options"), nb::call_guard<GilRelease>());

  nb::class_<DiesWithoutGil<TopologyCopy>>(m, "TopologyCopy")
      .def(nb::init<const std::shared_ptr<const Graph>&, int>(), nb::arg("graph"),
           nb::arg("device"), nb::call_guard<GilRelease>());
  m.def(
      "random_walks_on_device",
      [](const std::vector<PyWalkEdges>& metapath, const DeviceArray& starts,
         const DeviceArray& numbers, const WalkOptions& options, const DeviceArray& nodes,
         const std::optional<DeviceArray>& edge_ids, uintptr_t stream) {
        random_walks_on_device(path_of(metapath), starts.array, numbers.array, options,
                               {nodes.array, edge_ids ? edge_ids->array : Array{}},
                               reinterpret_cast<CudaStreamHandle>(stream));
      },
      nb::arg("metapath"), nb::arg("starts"), nb::arg("numbers"), nb::arg("options"),
      nb::arg("nodes"), nb::arg("edge_ids").none(), nb::arg("stream"),
      nb::call_guard<GilRelease>());
}

}  // namespace

void bind_walks(nb::module_& m) {
  bind_random_walks(m);
  m.def(
      "ppr_neighbors",
      [](const PyWalkEdges& walked, std::span<const int64_t> seeds, int64_t count, double alpha,
         double epsilon, int threads) {
        const auto& [graph, edge_type, sums, times] = walked;
        const auto found =
            ppr_neighbors({graph, edge_type, sums, times}, seeds,
                          {.count = count, .alpha = alpha, .epsilon = epsilon, .threads = threads});
        return std::tuple(found.nodes, found.scores);
      },
      nb::arg("walked"), nb::arg("seeds"), nb::kw_only(), nb::arg("count"), nb::arg("alpha"),
      nb::arg("epsilon"), nb::arg("threads"), nb::call_guard<GilRelease>());
  m.def("weight_sums", &weight_sums, nb::arg("indptr"), nb::arg("weights"), nb::kw_only(),
        nb::arg("threads"), nb::call_guard<GilRelease>());
  m.def(
      "most_visited",
      [](const Array& walks, int64_t walks_per_seed, int64_t stride, int64_t count, int threads) {
        const auto visited = most_visited(walks, walks_per_seed, stride, count, threads);
        return std::tuple(visited.nodes, visited.visits);
      },
      nb::arg("walks"), nb::kw_only(), nb::arg("walks_per_seed"), nb::arg("stride"),
      nb::arg("count"), nb::arg("threads"), nb::call_guard<GilRelease>());
}

}  // namespace ramet::bind
