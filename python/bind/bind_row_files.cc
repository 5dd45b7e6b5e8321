#include <cstdint>
#include <vector>

#include "arrays.h"
#include "gil.h"
#include "paths.h"
#include "ramet/row_files.h"

namespace ramet::bind {

namespace {

RowFile inspect(const nb::bytes& path) {
  const std::string name = to_string(path);
  const GilRelease release;
  return inspect_npy(name);
}

// `rows`: of the dtype and row shape that the file's rows have.
RowFile inspect_as(const nb::bytes& path, const Array& rows) {
  const std::string name = to_string(path);
  const GilRelease release;
  return inspect_raw(name, rows.dtype, {rows.shape.begin() + 1, rows.shape.end()});
}

Array map_files(const std::vector<RowFile>& files, int64_t stride, bool copy_on_write) {
  return map_rows(files, stride, copy_on_write ? OpenMode::kCopyOnWrite : OpenMode::kRead);
}

}  // namespace

void bind_row_files(nb::module_& m) {
  nb::class_<RowFile>(m, "RowFile")
      .def_static("npy", &inspect, nb::arg("path"))
      .def_static("raw", &inspect_as, nb::arg("path"), nb::arg("rows").noconvert())
      .def("as_bfloat16", &RowFile::as_bfloat16)
      .def("without_rows",
           [](RowFile file) {
             file.shape[0] = 0;
             return file;
           })
      .def_ro("shape", &RowFile::shape)
      .def_ro("size", &RowFile::size)
      .def_ro("identity", &RowFile::identity)
      .def_prop_ro("row_bytes", &RowFile::row_bytes)
      // No rows, of the dtype and row shape.
      .def_prop_ro("form", [](const RowFile& file) {
        Array none = file.array();
        none.shape[0] = 0;
        return none;
      });
  m.def(
      "file_stride",
      [](int64_t most_rows, int64_t files, const std::vector<int64_t>& row_bytes) {
        return file_stride(most_rows, files, row_bytes);
      },
      nb::kw_only(), nb::arg("most_rows"), nb::arg("files"), nb::arg("row_bytes"));
  m.def("map_rows", &map_files, nb::arg("files"), nb::kw_only(), nb::arg("stride"),
        nb::arg("copy_on_write") = false, nb::call_guard<GilRelease>());
}

}  // namespace ramet::bind
