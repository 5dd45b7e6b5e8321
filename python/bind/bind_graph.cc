#include <map>
#include <optional>
#include <tuple>

#include "arrays.h"
#include "edges_of.h"
#include "gil.h"
#include "paths.h"
#include "progress.h"
#include "ramet/csc.h"
#include "ramet/error.h"
#include "ramet/graph.h"
#include "ramet/pages.h"
#include "ramet/table.h"
#include "reverses.h"

namespace ramet::bind {

namespace {

const NodeType& nodes_of(const Graph& graph, const std::string& type) {
  return graph.node_types()[static_cast<size_t>(graph.node_type(type))];
}

template <typename Map>
std::vector<std::string> keys(const Map& map) {
  std::vector<std::string> result;
  for (const auto& [key, value] : map)
    result.push_back(key);
  return result;
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<Graph>(m, "Graph")
      .def_prop_ro("path", [](const Graph& g) { return to_bytes(g.store()->path()); })
      .def_prop_ro("segment_fd", [](const Graph& g) { return g.store()->segment_fd(); })
      .def_prop_ro("identity",
                   [](const Graph& g) {
                     const auto [device, inode] = g.store()->identity();
                     return nb::make_tuple(device, inode);
                   })
      .def_prop_ro("id", [](const Graph& g) { return g.store()->id(); })
      .def_prop_ro("read_by_row", [](const Graph& g) { return g.store()->read_by_row(); })
      .def_prop_ro("node_types",
                   [](const Graph& g) {
                     std::vector<std::string> names;
                     for (const NodeType& type : g.node_types())
                       names.push_back(type.name);
                     return names;
                   })
      .def_prop_ro("edge_types",
                   [](const Graph& g) {
                     std::vector<Triple> names;
                     for (const EdgeType& t : g.edge_types())
                       names.push_back(triple_of(t.name));
                     return names;
                   })
      .def("num_nodes",
           [](const Graph& g, const std::string& t) { return nodes_of(g, t).num_nodes; })
      .def("num_rows", [](const Graph& g, const std::string& t) { return nodes_of(g, t).num_rows; })
      .def("owned",
           [](const Graph& g, const std::string& t) { return nodes_of(g, t).rows.nodes(); })
      .def("owner", [](const Graph& g, const std::string& t) { return nodes_of(g, t).owner; })
      .def("ids", [](const Graph& g, const std::string& t) { return nodes_of(g, t).ids; })
      // [(name, array), ...] of those in a folder of the store.
      .def("arrays_in",
           [](const Graph& g, const std::string& folder) {
             nb::list arrays;
             for (const auto& [name, array] : g.store()->arrays())
               if (name.starts_with(folder + "/"))
                 arrays.append(nb::make_tuple(name, to_numpy(array)));
             return arrays;
           })
      .def_prop_ro("part",
                   [](const Graph& g) -> nb::object {
                     if (!g.part()) return nb::none();
                     return nb::make_tuple(g.part()->index, g.part()->count,
                                           g.part()->whole_fingerprint);
                   })
      // Of tables that nobody can have written to.
      .def_prop_ro("sorted_rows",
                   [](const Graph& g) {
                     std::map<std::string, std::string> sorted = g.store()->sorted_rows();
                     std::erase_if(sorted, [&](const auto& of_type) {
                       return g.store()->arrays().at(of_type.second).writable;
                     });
                     return sorted;
                   })
      .def_prop_ro("reverses", [](const Graph& g) { return to_tuples(g.store()->reverses()); })
      .def("reverse_type",
           [](const Graph& g, const Triple& t) -> std::optional<Triple> {
             const int reverse = edges_of(g, t).reverse;
             if (reverse < 0) return std::nullopt;
             return triple_of(g.edge_types()[static_cast<size_t>(reverse)].name);
           })
      .def("num_input_edges",
           [](const Graph& g, const Triple& t) { return edges_of(g, t).num_input_edges; })
      .def("num_edges", [](const Graph& g, const Triple& t) { return edges_of(g, t).num_edges(); })
      .def("indptr", [](const Graph& g, const Triple& t) { return edges_of(g, t).indptr; })
      .def("indices", [](const Graph& g, const Triple& t) { return edges_of(g, t).indices; })
      .def("edge_ids", [](const Graph& g, const Triple& t) { return edges_of(g, t).edge_ids; })
      .def("node_tables",
           [](const Graph& g, const std::string& t) { return keys(nodes_of(g, t).tables); })
      .def("edge_tables",
           [](const Graph& g, const Triple& t) { return keys(edges_of(g, t).tables); })
      .def("node_table",
           [](const Graph& g, const std::string& table, const std::string& t) {
             const NodeType& nodes = nodes_of(g, t);
             return find_table(nodes.tables, nodes.scales, table, "node type '" + t + "'");
           })
      .def("edge_table",
           [](const Graph& g, const std::string& table, const Triple& t) {
             const EdgeType& edges = edges_of(g, t);
             return find_table(edges.tables, edges.scales, table,
                               "edge type '" + edges.encoded + "'");
           })
      .def("splits",
           [](const Graph& g) {
             nb::dict result;
             for (const auto& [name, types] : g.splits())
               result[nb::str(name.data(), name.size())] = keys(types);
             return result;
           })
      .def("split",
           [](const Graph& g, const std::string& name, const std::string& type) {
             const auto it = g.splits().find(name);
             if (it != g.splits().end() && it->second.count(type) > 0) {
               return it->second.at(type);
             }
             throw_error(ErrorCode::kNotFound, "no split '", name, "' of node type '", type, "'");
           })
      .def("edge_splits",
           [](const Graph& g) {
             std::map<std::string, std::vector<Triple>> result;
             for (const auto& [name, types] : g.edge_splits())
               for (const auto& [encoded, ids] : types)
                 result[name].push_back(triple_of(EdgeTypeName::decode(encoded)));
             return result;
           })
      .def("edge_split",
           [](const Graph& g, const std::string& name, const Triple& type) {
             const std::string& encoded = edges_of(g, type).encoded;
             const auto it = g.edge_splits().find(name);
             if (it != g.edge_splits().end() && it->second.count(encoded) > 0)
               return it->second.at(encoded);
             throw_error(ErrorCode::kNotFound, "no split '", name, "' of edge type '", encoded,
                         "'");
           })
      .def("out_edges",
           [](const Graph& g, const Triple& type) -> std::shared_ptr<const Graph> {
             const auto it = g.out_edges().find(edges_of(g, type).encoded);
             return it == g.out_edges().end() ? nullptr : it->second;
           })
      .def("fingerprint", &Graph::fingerprint)
      .def("whole_fingerprint", &Graph::whole_fingerprint)
      .def("pages",
           [](const Graph& g) {
             PageUse use;
             {
               const GilRelease release;
               use = page_use(*g.store());
             }
             nb::dict result;
             result["mapped"] = use.mapped;
             result["resident"] = use.resident;
             result["huge"] = use.huge;
             result["by_row"] = use.by_row;
             result["page_tables"] = use.page_tables;
             return result;
           })
      .def(
          "copy_on_write",
          [](const Graph& g, const std::string& array) { return g.store()->copy_on_write(array); },
          nb::call_guard<GilRelease>())
      .def("validate", &validate, nb::arg("threads") = 0, nb::call_guard<GilRelease>())
      .def(
          "find_faults",
          [](const Graph& g, int threads, const nb::object& progress) {
            return find_faults(g, threads, interruptible(progress));
          },
          nb::arg("threads") = 0, nb::arg("progress") = nb::none(), nb::call_guard<GilRelease>());

  m.def(
      "build_csc",
      [](const Array& src, const Array& dst, int64_t num_src, int64_t num_dst, bool undirected,
         bool edge_ids, int threads) {
        const Csc csc =
            build_csc(src, dst, num_src, num_dst,
                      {.undirected = undirected, .edge_ids = edge_ids, .threads = threads});
        return std::tuple(csc.indptr, csc.indices, csc.edge_ids);
      },
      nb::arg("src").noconvert(), nb::arg("dst").noconvert(), nb::arg("num_src"),
      nb::arg("num_dst"), nb::arg("undirected") = false, nb::arg("edge_ids") = true,
      nb::arg("threads") = 0, nb::call_guard<GilRelease>());

  m.def("collapse_pages", &collapse_pages, nb::arg("address"), nb::arg("bytes"),
        nb::call_guard<GilRelease>());
  m.def("memory_left", &memory_left);
  m.def(
      "read_ahead", [](const Array& array) { read_ahead(array.data, array.bytes()); },
      nb::arg("array").noconvert(), nb::call_guard<GilRelease>());
  m.def("sorted_rows", &sorted_rows, nb::arg("indptr").noconvert(), nb::arg("keys").noconvert(),
        nb::arg("threads") = 0, nb::call_guard<GilRelease>());
  m.def(
      "check_csc",
      [](const Array& indptr, const Array& indices, int64_t num_src, int64_t num_dst) {
        const Csc csc = check_csc(indptr, indices, num_src, num_dst);
        return std::tuple(csc.indptr, csc.indices);
      },
      nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("num_src"),
      nb::arg("num_dst"));
}

}  // namespace ramet::bind
