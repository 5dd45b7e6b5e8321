#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

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
        OwnedNodes owned;
        {
          const GilRelease release;
          owned = owned_nodes(ownership, part);
        }
        return nb::make_tuple(to_numpy(owned.nodes), to_numpy(owned.bitmap));
      },
      nb::arg("ownership"), nb::arg("part"));

  // (indptr, indices, edge_ids, positions): the in-edges of nodes of the edge type's destination
  // type; positions are None where no table of edges needs them.
  m.def(
      "in_edges",
      [](const Graph& graph, const Triple& type, const Ids& nodes) {
        PartEdges edges;
        {
          const GilRelease release;
          edges = in_edges(edges_of(graph, type), borrow(nodes));
        }
        return nb::make_tuple(to_numpy(edges.indptr), to_numpy(edges.indices),
                              to_numpy(edges.edge_ids),
                              edges.position.shape.empty() ? nb::none() : to_numpy(edges.position));
      },
      nb::arg("graph"), nb::arg("edge_type"), nb::arg("nodes").noconvert());

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
