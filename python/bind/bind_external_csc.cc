#include <cstdint>
#include <optional>
#include <utility>

#include "arrays.h"
#include "gil.h"
#include "paths.h"
#include "progress.h"
#include "ramet/external_csc.h"
#include "ramet/external_order.h"

namespace ramet::bind {

namespace {

using External = DiesWithoutGil<ExternalCsc>;

nb::object finish(External& csc,
                  const nb::bytes& indptr,
                  const nb::bytes& indices,
                  const std::optional<nb::bytes>& edge_ids,
                  const nb::object& progress) {
  const CscPaths paths{to_string(indptr), to_string(indices), edge_ids ? to_string(*edge_ids) : ""};
  const Progress report = interruptible(progress);
  ExternalCsc::Result result{};
  {
    const GilRelease release;
    result = csc.finish(paths, report);
  }
  return nb::make_tuple(result.num_edges, result.has_edge_ids);
}

}  // namespace

void bind_external_csc(nb::module_& m) {
  nb::class_<External>(m, "ExternalCsc")
      .def(
          "__init__",
          [](External* self, const nb::bytes& folder, int64_t num_src, int64_t num_dst,
             int64_t memory, bool undirected, int threads) {
            new (self) External(
                to_string(folder), num_src, num_dst,
                ExternalCscOptions{.memory = memory, .undirected = undirected, .threads = threads});
          },
          nb::arg("folder"), nb::arg("num_src"), nb::arg("num_dst"), nb::arg("memory"),
          nb::arg("undirected") = false, nb::arg("threads") = 0)
      .def(
          "add", [](External& csc, const Array& src, const Array& dst) { csc.add(src, dst); },
          nb::arg("src").noconvert(), nb::arg("dst").noconvert(), nb::call_guard<GilRelease>())
      // (edges, whether edge ids were written).
      .def("finish", &finish, nb::arg("indptr"), nb::arg("indices"),
           nb::arg("edge_ids") = nb::none(), nb::arg("progress") = nb::none());
  m.def(
      "external_gather",
      [](const Array& rows, const Array& ids, const OutArray& out, const nb::bytes& folder,
         int64_t memory, int threads, const nb::object& progress) {
        const ExternalOptions options{to_string(folder), memory, threads};
        const Progress report = interruptible(progress);
        const GilRelease release;
        external_gather(rows, ids, out, options, report);
      },
      nb::arg("rows").noconvert(), nb::arg("ids").noconvert(), nb::arg("out"), nb::arg("folder"),
      nb::arg("memory"), nb::arg("threads") = 0, nb::arg("progress") = nb::none());
  m.def(
      "external_argsort",
      [](const Array& keys, const OutArray& order, const nb::bytes& folder, int64_t memory,
         int threads, const nb::object& progress) {
        const ExternalOptions options{to_string(folder), memory, threads};
        const Progress report = interruptible(progress);
        const GilRelease release;
        external_argsort(keys, order, options, report);
      },
      nb::arg("keys").noconvert(), nb::arg("order"), nb::arg("folder"), nb::arg("memory"),
      nb::arg("threads") = 0, nb::arg("progress") = nb::none());
}

}  // namespace ramet::bind
