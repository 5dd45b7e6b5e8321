#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arrays.h"
#include "device_array.h"
#include "gil.h"
#include "ramet/aggregate.h"
#include "ramet/aggregate_table.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"

namespace ramet::bind {

namespace {

Reduce reduce_named(const std::string& name) {
  if (name == "sum") return Reduce::kSum;
  if (name == "mean") return Reduce::kMean;
  if (name == "max") return Reduce::kMax;
  if (name == "min") return Reduce::kMin;
  throw_invalid("reduce is '", name, "', expected 'sum', 'mean', 'max' or 'min'");
}

DType float_named(const std::string& name) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16,
                            DType::kInt32, DType::kInt64}) {
    if (name == ramet::name(dtype)) return dtype;
  }
  throw_invalid("dtype is '", name, "', expected a floating one, int32 or int64");
}

void bind_block_edges(nb::module_& m) {
  nb::class_<BlockEdges>(m, "BlockEdges")
      .def(
          "__init__",
          [](BlockEdges* self, const Array& indptr, const Array& indices, int64_t num_src) {
            new (self) BlockEdges(indptr, indices, num_src);
          },
          nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("num_src"),
          nb::call_guard<GilRelease>())
      // (BlockEdges, int64 order or None where the edges were in order).
      .def_static(
          "from_edge_index",
          [](const Array& edge_index, int64_t num_src, int64_t num_dst, int threads) {
            const auto [edges, order] = sort_edges(edge_index, num_src, num_dst, threads);
            return std::tuple(edges, order);
          },
          nb::arg("edge_index").noconvert(), nb::arg("num_src"), nb::arg("num_dst"),
          nb::arg("threads") = 1, nb::call_guard<GilRelease>())
      .def_prop_ro("num_src", &BlockEdges::num_src)
      .def_prop_ro("num_dst", &BlockEdges::num_dst)
      .def_prop_ro("num_edges", &BlockEdges::num_edges)
      .def_prop_ro("indptr", &BlockEdges::indptr)
      .def_prop_ro("indices", &BlockEdges::indices)
      .def(
          "transpose",
          [](const BlockEdges& edges, int threads) { (void)edges.transposed(threads); },
          nb::arg("threads") = 1, nb::call_guard<GilRelease>())
      .def_prop_ro("is_transposed", &BlockEdges::is_transposed)
      // (indptr, indices, edges); built where it is not.
      .def_prop_ro(
          "transposed",
          [](const BlockEdges& edges) {
            const BlockEdges::Transposed& back = edges.transposed(1);
            return std::tuple(back.indptr, back.indices, back.edges);
          },
          nb::call_guard<GilRelease>());
}

}  // namespace

void bind_aggregate(nb::module_& m) {
  bind_block_edges(m);
  for (const auto& [name, function] :
       {std::pair{"aggregate", &aggregate}, {"aggregate_in_one_pass", &aggregate_in_one_pass}}) {
    m.def(
        name,
        [function = function](const BlockEdges& edges, const Array& x, const OutArray& out,
                              const std::string& reduce, const std::optional<Array>& weights,
                              int threads, const std::string& path) {
          function(edges, x, out,
                   {.reduce = reduce_named(reduce),
                    .weights = weights ? &*weights : nullptr,
                    .threads = threads,
                    .path = path});
        },
        nb::arg("edges"), nb::arg("x").noconvert(), nb::arg("out"), nb::arg("reduce") = "sum",
        nb::arg("weights").noconvert() = nb::none(), nb::arg("threads") = 1, nb::arg("path") = "",
        nb::call_guard<GilRelease>());
  }
  // Straight from a table, of the rows `ids`.
  m.def(
      "aggregate_rows",
      [](const BlockEdges& edges, const Table& table, std::span<const int64_t> ids,
         const OutArray& out, const std::string& reduce, const std::optional<Array>& weights,
         int threads) {
        aggregate_table(edges, table, ramet::borrow(ids), out,
                        {.reduce = reduce_named(reduce),
                         .weights = weights ? &*weights : nullptr,
                         .threads = threads});
      },
      nb::arg("edges"), nb::arg("table"), nb::arg("ids").noconvert(), nb::arg("out"),
      nb::arg("reduce") = "sum", nb::arg("weights").noconvert() = nb::none(),
      nb::arg("threads") = 1, nb::call_guard<GilRelease>());
  // On a device, with the caller's tensors.
  m.def(
      "sum_on_device",
      [](const DeviceArray& indptr, const DeviceArray& indices, const DeviceArray& x,
         const std::optional<DeviceArray>& weights, const DeviceArray& out, uintptr_t stream) {
        sum_on_device(indptr.array, indices.array, x.array, weights ? &weights->array : nullptr,
                      out.array, reinterpret_cast<void*>(stream));
      },
      nb::arg("indptr"), nb::arg("indices"), nb::arg("x"), nb::arg("weights").none(),
      nb::arg("out"), nb::arg("stream"), nb::call_guard<GilRelease>());
  m.def(
      "aggregate_back",
      [](const BlockEdges& edges, const Array& grad, const OutArray& out,
         const std::optional<Array>& weights, bool mean, int threads) {
        aggregate_back(edges, grad, out,
                       {.reduce = mean ? Reduce::kMean : Reduce::kSum,
                        .weights = weights ? &*weights : nullptr,
                        .threads = threads});
      },
      nb::arg("edges"), nb::arg("grad").noconvert(), nb::arg("out"),
      nb::arg("weights").noconvert() = nb::none(), nb::arg("mean") = false, nb::arg("threads") = 1,
      nb::call_guard<GilRelease>());
  m.def(
      "edge_dots",
      [](const BlockEdges& edges, const Array& dst_rows, const Array& src_rows, const OutArray& out,
         bool mean, int threads) {
        edge_dots(edges, dst_rows, src_rows, out, {.is_mean = mean, .threads = threads});
      },
      nb::arg("edges"), nb::arg("dst_rows").noconvert(), nb::arg("src_rows").noconvert(),
      nb::arg("out"), nb::arg("mean") = false, nb::arg("threads") = 1,
      nb::call_guard<GilRelease>());
  m.def("share_extremes", writes<4>(&share_extremes), nb::arg("edges"), nb::arg("x").noconvert(),
        nb::arg("reduced").noconvert(), nb::arg("grad").noconvert(), nb::arg("out"),
        nb::arg("threads") = 1, nb::call_guard<GilRelease>());
  m.def("extremes_back", writes<4>(&extremes_back), nb::arg("edges"), nb::arg("x").noconvert(),
        nb::arg("reduced").noconvert(), nb::arg("shared").noconvert(), nb::arg("out"),
        nb::arg("threads") = 1, nb::call_guard<GilRelease>());
  // An array of undefined contents from the pool of the process, to be used as a tensor.
  m.def(
      "pooled",
      [](std::vector<int64_t> shape, const std::string& dtype) {
        return BufferPool::shared()->allocate_array(float_named(dtype), std::move(shape));
      },
      nb::arg("shape"), nb::arg("dtype"));
}

}  // namespace ramet::bind
