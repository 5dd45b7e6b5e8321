#include <memory>
#include <optional>
#include <span>
#include <tuple>

#include "arrays.h"
#include "gil.h"
#include "ramet/attention.h"

namespace ramet::bind {

namespace {

using MaybeArray = std::optional<Array>;
using MaybeOut = std::optional<OutArray>;

void bind_softmax(nb::module_& m) {
  m.def("edge_softmax", writes<2>(&edge_softmax), nb::arg("edges"), nb::arg("scores").noconvert(),
        nb::arg("out"), nb::arg("threads") = 1, nb::call_guard<GilRelease>());
  m.def("edge_softmax_back", writes<3>(&edge_softmax_back), nb::arg("edges"),
        nb::arg("softmax").noconvert(), nb::arg("grad").noconvert(), nb::arg("out"),
        nb::arg("threads") = 1, nb::call_guard<GilRelease>());
  m.def(
      "gat_softmax",
      [](const BlockEdges& edges, const Array& source, const Array& destination,
         const MaybeArray& edge, const OutArray& out, double negative_slope, int threads) {
        gat_softmax(edges, {source, destination, edge.value_or(Array{}), negative_slope}, out,
                    threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("edge").noconvert().none(), nb::arg("out"), nb::arg("negative_slope"),
      nb::arg("threads") = 1, nb::call_guard<GilRelease>());
  m.def(
      "gat_softmax_back",
      [](const BlockEdges& edges, const Array& source, const Array& destination,
         const MaybeArray& edge, const Array& softmax, const Array& grad, const OutArray& out,
         const OutArray& grad_destination, double negative_slope, int threads) {
        gat_softmax_back(edges, {source, destination, edge.value_or(Array{}), negative_slope},
                         softmax, grad, out, grad_destination, threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("edge").noconvert().none(), nb::arg("softmax").noconvert(),
      nb::arg("grad").noconvert(), nb::arg("out"), nb::arg("grad_destination"),
      nb::arg("negative_slope"), nb::arg("threads") = 1, nb::call_guard<GilRelease>());
}

void bind_sums(nb::module_& m) {
  m.def("sum_at_sources", writes<2>(&sum_at_sources), nb::arg("edges"),
        nb::arg("values").noconvert(), nb::arg("out"), nb::arg("threads") = 1,
        nb::call_guard<GilRelease>());
  const auto with_two = [&m](const char* name, auto* function, const char* first,
                             const char* second) {
    m.def(name, writes<3>(function), nb::arg("edges"), nb::arg(first).noconvert(),
          nb::arg(second).noconvert(), nb::arg("out"), nb::arg("threads") = 1,
          nb::call_guard<GilRelease>());
  };
  with_two("head_sums", &head_sums, "x", "weights");
  with_two("head_sums_back", &head_sums_back, "grad", "weights");
  with_two("head_dots", &head_dots, "grad", "x");
}

void bind_gatv2(nb::module_& m) {
  m.def(
      "gatv2_scores",
      [](const BlockEdges& edges, const Array& source, const Array& destination, const Array& att,
         const MaybeArray& edge, const OutArray& out, double negative_slope, int threads) {
        gatv2_scores(edges, {source, destination, att, edge.value_or(Array{}), negative_slope}, out,
                     threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("att").noconvert(), nb::arg("edge").noconvert().none(), nb::arg("out"),
      nb::arg("negative_slope"), nb::arg("threads") = 1, nb::call_guard<GilRelease>());
  m.def(
      "gatv2_scores_back",
      [](const BlockEdges& edges, const Array& source, const Array& destination, const Array& att,
         const MaybeArray& edge, const Array& grad, const MaybeOut& grad_source,
         const MaybeOut& grad_destination, const MaybeOut& grad_att, const MaybeOut& grad_edge,
         double negative_slope, int threads) {
        const auto to = [](const MaybeOut& out) { return Array(out.value_or(OutArray{})); };
        gatv2_scores_back(
            edges, {source, destination, att, edge.value_or(Array{}), negative_slope}, grad,
            {to(grad_source), to(grad_destination), to(grad_att), to(grad_edge)}, threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("att").noconvert(), nb::arg("edge").noconvert().none(), nb::arg("grad").noconvert(),
      nb::arg("grad_source").none(), nb::arg("grad_destination").none(), nb::arg("grad_att").none(),
      nb::arg("grad_edge").none(), nb::arg("negative_slope"), nb::arg("threads") = 1,
      nb::call_guard<GilRelease>());
}

}  // namespace

void bind_attention(nb::module_& m) {
  bind_softmax(m);
  bind_sums(m);
  bind_gatv2(m);
  // (edges with self loops, int32 positions of the edges in the block, -1 for loops)
  m.def(
      "with_self_loops",
      [](const BlockEdges& edges, int threads, const std::optional<Ids>& own) {
        const LoopedEdges looped =
            with_self_loops(edges, threads, own ? borrow(*own) : std::span<const int64_t>());
        return std::tuple(looped.edges, looped.positions);
      },
      nb::arg("edges"), nb::arg("threads") = 1, nb::arg("own").none() = nb::none(),
      nb::call_guard<GilRelease>());
}

}  // namespace ramet::bind
