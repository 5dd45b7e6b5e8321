#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>
#include <optional>
#include <utility>

#include "arrays.h"
#include "gil.h"
#include "ramet/attention.h"

namespace ramet::bind {

namespace {

using MaybeArray = std::optional<AnyArray>;
using MaybeBuffer = std::optional<Buffer>;

Array borrow_out(const Buffer& out) {
  Array array = borrow(AnyArray(out));
  array.writable = true;
  return array;
}
Array borrow_or_none(const MaybeArray& array) {
  return array ? borrow(*array) : Array{};
}
Array borrow_out_or_none(const MaybeBuffer& out) {
  return out ? borrow_out(*out) : Array{};
}

void bind_softmax(nb::module_& m) {
  m.def(
      "edge_softmax",
      [](const BlockEdges& edges, const AnyArray& scores, const Buffer& out, int threads) {
        const Array from = borrow(scores), to = borrow_out(out);
        const GilRelease release;
        edge_softmax(edges, from, to, threads);
      },
      nb::arg("edges"), nb::arg("scores").noconvert(), nb::arg("out").noconvert(),
      nb::arg("threads") = 1);
  m.def(
      "edge_softmax_back",
      [](const BlockEdges& edges, const AnyArray& softmax, const AnyArray& grad, const Buffer& out,
         int threads) {
        const Array alpha = borrow(softmax), from = borrow(grad), to = borrow_out(out);
        const GilRelease release;
        edge_softmax_back(edges, alpha, from, to, threads);
      },
      nb::arg("edges"), nb::arg("softmax").noconvert(), nb::arg("grad").noconvert(),
      nb::arg("out").noconvert(), nb::arg("threads") = 1);
  m.def(
      "gat_softmax",
      [](const BlockEdges& edges, const AnyArray& source, const AnyArray& destination,
         const MaybeArray& edge, const Buffer& out, double negative_slope, int threads) {
        const GatScores scores{borrow(source), borrow(destination), borrow_or_none(edge),
                               negative_slope};
        const Array to = borrow_out(out);
        const GilRelease release;
        gat_softmax(edges, scores, to, threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("edge").noconvert().none(), nb::arg("out").noconvert(), nb::arg("negative_slope"),
      nb::arg("threads") = 1);
  m.def(
      "gat_softmax_back",
      [](const BlockEdges& edges, const AnyArray& source, const AnyArray& destination,
         const MaybeArray& edge, const AnyArray& softmax, const AnyArray& grad, const Buffer& out,
         const Buffer& grad_destination, double negative_slope, int threads) {
        const GatScores scores{borrow(source), borrow(destination), borrow_or_none(edge),
                               negative_slope};
        const Array alpha = borrow(softmax), from = borrow(grad), to = borrow_out(out);
        const Array to_destination = borrow_out(grad_destination);
        const GilRelease release;
        gat_softmax_back(edges, scores, alpha, from, to, to_destination, threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("edge").noconvert().none(), nb::arg("softmax").noconvert(),
      nb::arg("grad").noconvert(), nb::arg("out").noconvert(),
      nb::arg("grad_destination").noconvert(), nb::arg("negative_slope"), nb::arg("threads") = 1);
}

void bind_sums(nb::module_& m) {
  m.def(
      "sum_at_sources",
      [](const BlockEdges& edges, const AnyArray& values, const Buffer& out, int threads) {
        const Array from = borrow(values), to = borrow_out(out);
        const GilRelease release;
        sum_at_sources(edges, from, to, threads);
      },
      nb::arg("edges"), nb::arg("values").noconvert(), nb::arg("out").noconvert(),
      nb::arg("threads") = 1);
  const auto with_two = [&m](const char* name, auto* function, const char* first,
                             const char* second) {
    m.def(
        name,
        [function](const BlockEdges& edges, const AnyArray& a, const AnyArray& b, const Buffer& out,
                   int threads) {
          const Array x = borrow(a), y = borrow(b), to = borrow_out(out);
          const GilRelease release;
          function(edges, x, y, to, threads);
        },
        nb::arg("edges"), nb::arg(first).noconvert(), nb::arg(second).noconvert(),
        nb::arg("out").noconvert(), nb::arg("threads") = 1);
  };
  with_two("head_sums", &head_sums, "x", "weights");
  with_two("head_sums_back", &head_sums_back, "grad", "weights");
  with_two("head_dots", &head_dots, "grad", "x");
}

void bind_gatv2(nb::module_& m) {
  m.def(
      "gatv2_scores",
      [](const BlockEdges& edges, const AnyArray& source, const AnyArray& destination,
         const AnyArray& att, const MaybeArray& edge, const Buffer& out, double negative_slope,
         int threads) {
        const Gatv2Scores scores{borrow(source), borrow(destination), borrow(att),
                                 borrow_or_none(edge), negative_slope};
        const Array to = borrow_out(out);
        const GilRelease release;
        gatv2_scores(edges, scores, to, threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("att").noconvert(), nb::arg("edge").noconvert().none(), nb::arg("out").noconvert(),
      nb::arg("negative_slope"), nb::arg("threads") = 1);
  m.def(
      "gatv2_scores_back",
      [](const BlockEdges& edges, const AnyArray& source, const AnyArray& destination,
         const AnyArray& att, const MaybeArray& edge, const AnyArray& grad,
         const MaybeBuffer& grad_source, const MaybeBuffer& grad_destination,
         const MaybeBuffer& grad_att, const MaybeBuffer& grad_edge, double negative_slope,
         int threads) {
        const Gatv2Scores scores{borrow(source), borrow(destination), borrow(att),
                                 borrow_or_none(edge), negative_slope};
        const Gatv2Scores out{borrow_out_or_none(grad_source), borrow_out_or_none(grad_destination),
                              borrow_out_or_none(grad_att), borrow_out_or_none(grad_edge)};
        const Array from = borrow(grad);
        const GilRelease release;
        gatv2_scores_back(edges, scores, from, out, threads);
      },
      nb::arg("edges"), nb::arg("source").noconvert(), nb::arg("destination").noconvert(),
      nb::arg("att").noconvert(), nb::arg("edge").noconvert().none(), nb::arg("grad").noconvert(),
      nb::arg("grad_source").noconvert().none(), nb::arg("grad_destination").noconvert().none(),
      nb::arg("grad_att").noconvert().none(), nb::arg("grad_edge").noconvert().none(),
      nb::arg("negative_slope"), nb::arg("threads") = 1);
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
        LoopedEdges looped;
        {
          const GilRelease release;
          looped = with_self_loops(edges, threads, own ? borrow(*own) : std::span<const int64_t>());
        }
        return nb::make_tuple(looped.edges, to_numpy(looped.positions));
      },
      nb::arg("edges"), nb::arg("threads") = 1, nb::arg("own").none() = nb::none());
}

}  // namespace ramet::bind
