// The Python extension ramet._core. Bindings check, release the GIL, call and wrap; they hold no
// logic. The public names and their documentation are in the Python package.
#include <nanobind/nanobind.h>

#include <exception>

#include "gil.h"
#include "ramet/error.h"
#include "ramet/isa.h"
#include "ramet/version.h"

namespace nb = nanobind;

namespace ramet::bind {

void bind_graph(nb::module_& m);
void bind_part(nb::module_& m);
void bind_store(nb::module_& m);
void bind_sampler(nb::module_& m);
void bind_loader(nb::module_& m);
void bind_dropout(nb::module_& m);
void bind_ownership(nb::module_& m);
void bind_cooperative(nb::module_& m);
void bind_cuda(nb::module_& m);

namespace {

void set_os_error(const Error& e) {
  PyErr_SetObject(PyExc_OSError, nb::make_tuple(e.system_errno(), e.what()).ptr());
}

void set_python_error(const Error& e, PyObject* corrupt_store_error) {
  switch (e.code()) {
    case ErrorCode::kInvalidArgument:
      return PyErr_SetString(PyExc_ValueError, e.what());
    case ErrorCode::kOutOfRange:
      return PyErr_SetString(PyExc_IndexError, e.what());
    case ErrorCode::kCorrupt:
      return PyErr_SetString(corrupt_store_error, e.what());
    case ErrorCode::kNotFound:
      return e.system_errno() != 0 ? set_os_error(e) : PyErr_SetString(PyExc_KeyError, e.what());
    case ErrorCode::kNoSpace:
      return e.system_errno() != 0 ? set_os_error(e) : PyErr_SetString(PyExc_MemoryError, e.what());
    case ErrorCode::kIo:
      return set_os_error(e);
    case ErrorCode::kDevice:
      return PyErr_SetString(PyExc_RuntimeError, e.what());
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
  // Objects that live in globals, or in daemon threads, are no leak worth a page of text at exit.
  nb::set_leak_warnings(false);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&GilRelease::begin_exit));
  bind_graph(m);
  bind_part(m);
  bind_store(m);
  bind_sampler(m);
  bind_loader(m);
  bind_dropout(m);
  bind_ownership(m);
  bind_cooperative(m);
  bind_cuda(m);
}

}  // namespace ramet::bind
