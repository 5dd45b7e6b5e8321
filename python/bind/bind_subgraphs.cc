#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "ramet/subgraphs.h"

namespace ramet::bind {

using PyWalkEdges = std::tuple<std::shared_ptr<const Graph>, int, std::string, std::string>;

void bind_subgraphs(nb::module_& m) {
  nb::class_<Subgraphs>(m, "Subgraphs");

  // clusters: (offsets, ids) of each node type.
  m.def(
      "make_clusters",
      [](const std::shared_ptr<const Graph>& graph,
         const std::vector<std::pair<Array, Array>>& clusters) {
        std::vector<ClusteredNodes> of_types;
        for (const auto& [offsets, ids] : clusters)
          of_types.push_back({copy(offsets), copy(ids)});
        return make_clusters(*graph, std::move(of_types));
      },
      nb::arg("graph"), nb::arg("clusters"));

  // outgoing: (graph, edge type, "", "") as of random_walks, or None.
  m.def(
      "make_saint",
      [](std::shared_ptr<const Graph> graph, const std::optional<PyWalkEdges>& outgoing,
         const std::string& sampler, int64_t batch_size, int64_t walk_length, int64_t num_steps,
         uint64_t seed) {
        const GilRelease release;
        WalkEdges walked;
        if (outgoing) walked = {std::get<0>(*outgoing), std::get<1>(*outgoing)};
        return make_saint(std::move(graph), walked,
                          {.sampler = parse_saint_sampler(sampler),
                           .batch_size = batch_size,
                           .walk_length = walk_length,
                           .num_steps = num_steps,
                           .seed = seed});
      },
      nb::arg("graph"), nb::arg("outgoing").none(), nb::kw_only(), nb::arg("sampler"),
      nb::arg("batch_size"), nb::arg("walk_length"), nb::arg("num_steps"), nb::arg("seed"));

  nb::class_<SaintCounts>(m, "SaintCounts")
      .def(nb::init<std::shared_ptr<const Graph>, std::shared_ptr<const Subgraphs>>(),
           nb::arg("graph"), nb::arg("subgraphs"))
      .def("add", &SaintCounts::add, nb::arg("count"), nb::arg("threads"),
           nb::call_guard<nb::gil_scoped_release>())
      .def("node_norm", &SaintCounts::node_norm)
      .def("edge_norm", &SaintCounts::edge_norm);
}

}  // namespace ramet::bind
