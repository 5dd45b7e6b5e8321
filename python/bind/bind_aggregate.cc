#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
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
          [](BlockEdges* self, const AnyArray& indptr, const AnyArray& indices, int64_t num_src) {
            Array offsets = keep(indptr, false), sources = keep(indices, false);
            const GilRelease release;
            new (self) BlockEdges(std::move(offsets), std::move(sources), num_src);
          },
          nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(), nb::arg("num_src"))
      // (BlockEdges, int64 order or None where the edges were in order).
      .def_static(
          "from_edge_index",
          [](const AnyArray& edge_index, int64_t num_src, int64_t num_dst, int threads) {
            const Array ids = borrow(edge_index);
            const auto [edges, order] = [&] {
              const GilRelease release;
              return sort_edges(ids, num_src, num_dst, threads);
            }();
            return nb::make_tuple(edges, order.data == nullptr ? nb::none() : to_numpy(order));
          },
          nb::arg("edge_index").noconvert(), nb::arg("num_src"), nb::arg("num_dst"),
          nb::arg("threads") = 1)
      .def_prop_ro("num_src", &BlockEdges::num_src)
      .def_prop_ro("num_dst", &BlockEdges::num_dst)
      .def_prop_ro("num_edges", &BlockEdges::num_edges)
      .def_prop_ro("indptr", [](const BlockEdges& e) { return to_numpy(e.indptr()); })
      .def_prop_ro("indices", [](const BlockEdges& e) { return to_numpy(e.indices()); })
      .def(
          "transpose",
          [](const BlockEdges& edges, int threads) {
            const GilRelease release;
            (void)edges.transposed(threads);
          },
          nb::arg("threads") = 1)
      .def_prop_ro("is_transposed", &BlockEdges::is_transposed)
      // (indptr, indices, edges); built where it is not.
      .def_prop_ro("transposed", [](const BlockEdges& edges) {
        const BlockEdges::Transposed* back = nullptr;
        {
          const GilRelease release;
          back = &edges.transposed(1);
        }
        return nb::make_tuple(to_numpy(back->indptr), to_numpy(back->indices),
                              to_numpy(back->edges));
      });
}

}  // namespace

void bind_aggregate(nb::module_& m) {
  bind_block_edges(m);
  for (const auto& [name, function] :
       {std::pair{"aggregate", &aggregate}, {"aggregate_in_one_pass", &aggregate_in_one_pass}}) {
    m.def(
        name,
        [function = function](const BlockEdges& edges, const AnyArray& x, const Buffer& out,
                              const std::string& reduce, const std::optional<AnyArray>& weights,
                              int threads, const std::string& path) {
          const Array rows = borrow(x), result = borrow_out(out);
          const Array factors = weights ? borrow(*weights) : Array{};
          const AggregateOptions options{.reduce = reduce_named(reduce),
                                         .weights = weights ? &factors : nullptr,
                                         .threads = threads,
                                         .path = path};
          const GilRelease release;
          function(edges, rows, result, options);
        },
        nb::arg("edges"), nb::arg("x").noconvert(), nb::arg("out").noconvert(),
        nb::arg("reduce") = "sum", nb::arg("weights").noconvert() = nb::none(),
        nb::arg("threads") = 1, nb::arg("path") = "");
  }
  // Straight from a table, of the rows `ids`.
  m.def(
      "aggregate_rows",
      [](const BlockEdges& edges, const Table& table, const Ids& ids, const Buffer& out,
         const std::string& reduce, const std::optional<AnyArray>& weights, int threads) {
        const Array result = borrow_out(out);
        const Array factors = weights ? borrow(*weights) : Array{};
        const AggregateOptions options{.reduce = reduce_named(reduce),
                                       .weights = weights ? &factors : nullptr,
                                       .threads = threads};
        const GilRelease release;
        aggregate_table(edges, table, ramet::borrow(borrow(ids)), result, options);
      },
      nb::arg("edges"), nb::arg("table"), nb::arg("ids").noconvert(), nb::arg("out").noconvert(),
      nb::arg("reduce") = "sum", nb::arg("weights").noconvert() = nb::none(),
      nb::arg("threads") = 1);
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
      [](const BlockEdges& edges, const AnyArray& grad, const Buffer& out,
         const std::optional<AnyArray>& weights, bool mean, int threads) {
        const Array rows = borrow(grad), result = borrow_out(out);
        const Array factors = weights ? borrow(*weights) : Array{};
        const AggregateOptions options{.reduce = mean ? Reduce::kMean : Reduce::kSum,
                                       .weights = weights ? &factors : nullptr,
                                       .threads = threads};
        const GilRelease release;
        aggregate_back(edges, rows, result, options);
      },
      nb::arg("edges"), nb::arg("grad").noconvert(), nb::arg("out").noconvert(),
      nb::arg("weights").noconvert() = nb::none(), nb::arg("mean") = false, nb::arg("threads") = 1);
  m.def(
      "edge_dots",
      [](const BlockEdges& edges, const AnyArray& dst_rows, const AnyArray& src_rows,
         const Buffer& out, bool mean, int threads) {
        const Array own = borrow(dst_rows), rows = borrow(src_rows), result = borrow_out(out);
        const GilRelease release;
        edge_dots(edges, own, rows, result, {.is_mean = mean, .threads = threads});
      },
      nb::arg("edges"), nb::arg("dst_rows").noconvert(), nb::arg("src_rows").noconvert(),
      nb::arg("out").noconvert(), nb::arg("mean") = false, nb::arg("threads") = 1);
  m.def(
      "share_extremes",
      [](const BlockEdges& edges, const AnyArray& x, const AnyArray& reduced, const AnyArray& grad,
         const Buffer& out, int threads) {
        const Array rows = borrow(x), extremes = borrow(reduced), gradient = borrow(grad);
        const Array result = borrow_out(out);
        const GilRelease release;
        share_extremes(edges, rows, extremes, gradient, result, threads);
      },
      nb::arg("edges"), nb::arg("x").noconvert(), nb::arg("reduced").noconvert(),
      nb::arg("grad").noconvert(), nb::arg("out").noconvert(), nb::arg("threads") = 1);
  m.def(
      "extremes_back",
      [](const BlockEdges& edges, const AnyArray& x, const AnyArray& reduced,
         const AnyArray& shared, const Buffer& out, int threads) {
        const Array rows = borrow(x), extremes = borrow(reduced), gradient = borrow(shared);
        const Array result = borrow_out(out);
        const GilRelease release;
        extremes_back(edges, rows, extremes, gradient, result, threads);
      },
      nb::arg("edges"), nb::arg("x").noconvert(), nb::arg("reduced").noconvert(),
      nb::arg("shared").noconvert(), nb::arg("out").noconvert(), nb::arg("threads") = 1);
  // An array of undefined contents from the pool of the process, to be used as a tensor.
  m.def(
      "pooled",
      [](std::vector<int64_t> shape, const std::string& dtype) {
        return to_numpy(BufferPool::shared()->allocate_array(float_named(dtype), std::move(shape)));
      },
      nb::arg("shape"), nb::arg("dtype"));
}

}  // namespace ramet::bind
