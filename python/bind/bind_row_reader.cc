#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>

#include "arrays.h"
#include "gil.h"
#include "ramet/error.h"
#include "ramet/row_reader.h"

namespace ramet::bind {

namespace {

// Of the rows of a mapped array; negative costs are measured.
std::shared_ptr<RowReader> open(const Array& rows,
                                bool io_uring,
                                bool direct,
                                int depth,
                                double request_seconds,
                                double byte_seconds) {
  using Method = RowReaderOptions::Method;
  return RowReader::open(files_of(rows), rows.row_bytes(),
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
Counts read_rows(RowReader& reader, std::span<const int64_t> ids, const OutArray& out) {
  if (out.bytes() != std::ssize(ids) * reader.row_bytes())
    throw_invalid("out has other bytes than the rows");
  return counts_of(reader.submit(ids, out.data)->complete());
}

// What read() would read.
Counts plan(const RowReader& reader, std::span<const int64_t> ids) {
  return counts_of(reader.plan(ids));
}

}  // namespace

void bind_row_reader(nb::module_& m) {
  nb::class_<RowReader>(m, "RowReader")
      .def_static("open", &open, nb::arg("rows").noconvert(), nb::kw_only(), nb::arg("io_uring"),
                  nb::arg("direct"), nb::arg("depth"), nb::arg("request_seconds"),
                  nb::arg("byte_seconds"), nb::call_guard<GilRelease>())
      .def("read", &read_rows, nb::arg("ids").noconvert(), nb::arg("out").noconvert(),
           nb::call_guard<GilRelease>())
      .def("plan", &plan, nb::arg("ids").noconvert(), nb::call_guard<GilRelease>())
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
