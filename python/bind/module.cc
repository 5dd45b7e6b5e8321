// The Python extension ramet._core. Bindings check, release the GIL, call and wrap; they hold no
// logic. The public names and their documentation are in the Python package.
#include <nanobind/nanobind.h>

#include <exception>
#include <string_view>

#include "gil.h"
#include "ramet/error.h"
#include "ramet/isa.h"
#include "ramet/version.h"

namespace nb = nanobind;

namespace ramet::bind {

void bind_table(nb::module_& m);
void bind_record_table(nb::module_& m);
void bind_row_exchange(nb::module_& m);
void bind_row_files(nb::module_& m);
void bind_row_reader(nb::module_& m);
void bind_shared_memory(nb::module_& m);
void bind_optimizer(nb::module_& m);
void bind_external_csc(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_ids(nb::module_& m);
void bind_part(nb::module_& m);
void bind_store(nb::module_& m);
void bind_sampler(nb::module_& m);
void bind_walks(nb::module_& m);
void bind_subgraphs(nb::module_& m);
void bind_links(nb::module_& m);
void bind_loader(nb::module_& m);
void bind_dropout(nb::module_& m);
void bind_aggregate(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_ownership(nb::module_& m);
void bind_cooperative(nb::module_& m);
void bind_cuda(nb::module_& m);
void bind_device_array(nb::module_& m);
void bind_device_table(nb::module_& m);
void bind_cache(nb::module_& m);

namespace {

// Names of files may hold any bytes; what is not UTF-8 stands in a message as "\\xff".
nb::object text_of(const Error& e) {
  const std::string_view what = e.what();
  return nb::steal(PyUnicode_DecodeUTF8(what.data(), Py_ssize_t(what.size()), "backslashreplace"));
}

void set_error(PyObject* type, const Error& e) {
  PyErr_SetObject(type, text_of(e).ptr());
}

void set_os_error(const Error& e) {
  PyErr_SetObject(PyExc_OSError, nb::make_tuple(e.system_errno(), text_of(e)).ptr());
}

void set_python_error(const Error& e, PyObject* corrupt_store_error) {
  switch (e.code()) {
    case ErrorCode::kInvalidArgument:
      return set_error(PyExc_ValueError, e);
    case ErrorCode::kOutOfRange:
      return set_error(PyExc_IndexError, e);
    case ErrorCode::kCorrupt:
      return set_error(corrupt_store_error, e);
    case ErrorCode::kNotFound:
      return e.system_errno() != 0 ? set_os_error(e) : set_error(PyExc_KeyError, e);
    case ErrorCode::kNoSpace:
      return e.system_errno() != 0 ? set_os_error(e) : set_error(PyExc_MemoryError, e);
    case ErrorCode::kIo:
      return set_os_error(e);
    case ErrorCode::kDevice:
      return set_error(PyExc_RuntimeError, e);
  }
}

void bind_errors(nb::module_& m) {
  nb::object corrupt = nb::steal(
      PyErr_NewExceptionWithDoc("ramet.CorruptStoreError",
                                "The bytes of a store contradict each other. The message names "
                                "the file, the position and the value.",
                                PyExc_ValueError, nullptr));
  m.attr("CorruptStoreError") = corrupt;
  nb::register_exception_translator(
      [](const std::exception_ptr& p, void* payload) {
        try {
          std::rethrow_exception(p);
        } catch (const Error& e) {
          set_python_error(e, static_cast<PyObject*>(payload));
        }
      },
      corrupt.inc_ref().ptr());
}

}  // namespace

NB_MODULE(_core, m) {
  m.attr("__version__") = kVersion;
  bind_errors(m);
  m.def("isa", [] { return name(isa()); });
  m.def("multiplies_bfloat16", &multiplies_bfloat16);
  // Objects that live in globals, or in daemon threads, are no leak worth a page of text at exit.
  nb::set_leak_warnings(false);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&TakingGil::begin_exit));
  bind_device_array(m);
  bind_table(m);
  bind_row_exchange(m);
  bind_row_files(m);
  bind_row_reader(m);
  bind_shared_memory(m);
  bind_optimizer(m);
  bind_record_table(m);
  bind_external_csc(m);
  bind_graph(m);
  bind_ids(m);
  bind_part(m);
  bind_store(m);
  bind_aggregate(m);
  bind_attention(m);
  bind_sampler(m);
  bind_walks(m);
  bind_subgraphs(m);
  bind_links(m);
  bind_loader(m);
  bind_dropout(m);
  bind_ownership(m);
  bind_cooperative(m);
  bind_cuda(m);
  bind_device_table(m);
  bind_cache(m);
}

}  // namespace ramet::bind
