#include <span>
#include <string>
#include <tuple>

#include "arrays.h"
#include "edges_of.h"
#include "gil.h"
#include "ramet/part.h"

namespace ramet::bind {

void bind_part(nb::module_& m) {
  // (ids, bitmap): what part `part` owns.
  m.def(
      "owned_nodes",
      [](const Ownership& ownership, int64_t part) {
        const OwnedNodes owned = owned_nodes(ownership, part);
        return std::tuple(owned.nodes, owned.bitmap);
      },
      nb::arg("ownership"), nb::arg("part"), nb::call_guard<GilRelease>());

  // (indptr, indices, edge_ids, positions): the in-edges of nodes of the edge type's destination
  // type; positions are None where no table of edges needs them.
  m.def(
      "in_edges",
      [](const Graph& graph, const Triple& type, std::span<const int64_t> nodes) {
        const PartEdges edges = in_edges(edges_of(graph, type), nodes);
        return std::tuple(edges.indptr, edges.indices, edges.edge_ids, edges.position);
      },
      nb::arg("graph"), nb::arg("edge_type"), nb::arg("nodes").noconvert(),
      nb::call_guard<GilRelease>());

  m.def(
      "count_cut",
      [](const Graph& graph, const Triple& type, const Ownership& sources,
         const Ownership& destinations) {
        return count_cut(edges_of(graph, type), sources, destinations);
      },
      nb::arg("graph"), nb::arg("edge_type"), nb::arg("sources"), nb::arg("destinations"),
      nb::call_guard<GilRelease>());
}

}  // namespace ramet::bind
