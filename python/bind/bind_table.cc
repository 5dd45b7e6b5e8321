#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>

#include "arrays.h"
#include "gil.h"
#include "ramet/table.h"
#include "ramet/table_rows.h"

namespace ramet::bind {

namespace {

using Buffer = nb::ndarray<nb::c_contig, nb::device::cpu>;  // to be written to

// Where `out` is given: into it, and nothing is returned. Python has checked that it fits.
nb::object gather(const Table& table,
                  const Ids& ids,
                  int threads,
                  bool decode,
                  const std::optional<Buffer>& out) {
  Array rows;
  {
    const GilRelease release;
    if (out && decode)
      table.gather_float32(borrow(ids), static_cast<float*>(out->data()), threads);
    else if (out)
      table.gather(borrow(ids), out->data(), threads);
    else
      rows =
          decode ? table.gather_float32(borrow(ids), threads) : table.gather(borrow(ids), threads);
  }
  return out ? nb::none() : to_numpy(rows);
}

using WriteRows = void (*)(const Array&, std::span<const RowList>, NodeRange, int);

// `bfloat16`: `rows` holds the bits.
template <WriteRows kWrite>
void write(const Table& table, const Ids& ids, const AnyArray& rows, bool bfloat16, int threads) {
  Array values = borrow(rows);
  if (bfloat16) values.dtype = DType::kBFloat16;
  const GilRelease release;
  const RowList list{borrow(ids), values};
  kWrite(table.rows(), std::span(&list, 1), {0, table.rows().rows()}, threads);
}

void init(const Table& table,
          Distribution distribution,
          uint64_t seed,
          int64_t begin,
          int64_t end,
          int threads) {
  const Array& all = table.rows();
  Array rows = all;
  rows.data = static_cast<char*>(all.data) + begin * all.row_bytes();
  rows.shape[0] = end - begin;
  const GilRelease release;
  init_rows(rows, distribution, seed, begin, all.rows(), threads);
}

}  // namespace

void bind_table(nb::module_& m) {
  nb::enum_<Distribution>(m, "Distribution")
      .value("normal", Distribution::kNormal)
      .value("uniform", Distribution::kUniform)
      .value("xavier", Distribution::kXavier);
  nb::class_<Table>(m, "Table")
      .def(
          "__init__",
          [](Table* self, const AnyArray& rows, const std::optional<AnyArray>& scale, bool bfloat16,
             bool writable) {
            new (self) Table(keep(rows, writable, bfloat16), scale ? keep(*scale, false) : Array{},
                             "table");
          },
          nb::arg("rows").noconvert(), nb::arg("scale").noconvert().none(), nb::kw_only(),
          nb::arg("bfloat16"), nb::arg("writable"))
      .def_prop_ro("name", &Table::name)
      .def_prop_ro("is_encoded", &Table::is_encoded)
      .def("numpy", [](const Table& table) { return to_numpy(table.rows()); })
      .def_prop_ro("scale",
                   [](const Table& table) {
                     return table.has_scale() ? to_numpy(table.scale()) : nb::none();
                   })
      .def("gather", &gather, nb::arg("ids").noconvert(), nb::kw_only(), nb::arg("threads"),
           nb::arg("decode"), nb::arg("out").noconvert().none())
      .def("set_rows", &write<set_rows>, nb::arg("ids").noconvert(), nb::arg("rows").noconvert(),
           nb::kw_only(), nb::arg("bfloat16"), nb::arg("threads"))
      .def("sum_rows", &write<sum_rows>, nb::arg("ids").noconvert(), nb::arg("rows").noconvert(),
           nb::kw_only(), nb::arg("bfloat16"), nb::arg("threads"))
      .def("init_rows", &init, nb::arg("distribution"), nb::kw_only(), nb::arg("seed"),
           nb::arg("begin"), nb::arg("end"), nb::arg("threads"));
}

}  // namespace ramet::bind
