#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>

#include "arrays.h"
#include "gil.h"
#include "ramet/buffer_pool.h"
#include "ramet/row_reader.h"

namespace ramet::bind {

namespace {

// Of the rows of a mapped array; negative costs are measured.
std::shared_ptr<RowReader> open(const AnyArray& rows,
                                bool io_uring,
                                bool direct,
                                int depth,
                                double request_seconds,
                                double byte_seconds) {
  const Array mapped = borrow(rows);
  const GilRelease release;
  using Method = RowReaderOptions::Method;
  return RowReader::open(files_of(mapped), mapped.row_bytes(),
                         {.method = io_uring ? Method::kAuto : Method::kThreads,
                          .direct = direct,
                          .depth = depth,
                          .request_seconds = request_seconds,
                          .byte_seconds = byte_seconds});
}

// Distinct rows, requests and bytes.
using Counts = std::tuple<int64_t, int64_t, int64_t>;

Counts counts_of(const ReadCounts& counts) {
  return {counts.rows, counts.requests, counts.bytes};
}

// Rows to `out`; what was read.
Counts read_rows(RowReader& reader,
                 const Ids& ids,
                 const nb::ndarray<nb::c_contig, nb::device::cpu>& out) {
  if (out.nbytes() != ids.size() * static_cast<size_t>(reader.row_bytes()))
    throw nb::value_error("out has other bytes than the rows");
  const GilRelease release;
  return counts_of(reader.submit(borrow(ids), out.data())->complete());
}

// What read() would read.
Counts plan(const RowReader& reader, const Ids& ids) {
  const GilRelease release;
  return counts_of(reader.plan(borrow(ids)));
}

}  // namespace

void bind_row_reader(nb::module_& m) {
  nb::class_<RowReader>(m, "RowReader")
      .def_static("open", &open, nb::arg("rows").noconvert(), nb::kw_only(), nb::arg("io_uring"),
                  nb::arg("direct"), nb::arg("depth"), nb::arg("request_seconds"),
                  nb::arg("byte_seconds"))
      .def("read", &read_rows, nb::arg("ids").noconvert(), nb::arg("out").noconvert())
      .def("plan", &plan, nb::arg("ids").noconvert())
      .def_prop_ro("row_bytes", &RowReader::row_bytes)
      .def_prop_ro("how", &RowReader::how)
      .def_prop_ro("request_seconds", &RowReader::request_seconds)
      .def_prop_ro("byte_seconds", &RowReader::byte_seconds)
      .def_prop_ro("costs_problem", &RowReader::costs_problem)
      .def_prop_ro("rows_per_second", &RowReader::rows_per_second)
      .def_prop_ro("memory_bytes", &RowReader::memory_bytes);
  m.def("io_uring_problem", &io_uring_problem);
}

}  // namespace ramet::bind
