// A Python callable as a Progress.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "ramet/progress.h"

namespace ramet::bind {

namespace nb = nanobind;

// Lets Ctrl-C through, with or without a callable to report to. Borrows it: for the length of a
// call.
inline Progress interruptible(const nb::object& callable) {
  return [callable = callable.ptr()](int64_t done, int64_t total) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    const nb::handle report(callable);
    if (!report.is_none()) report(done, total);
  };
}

}  // namespace ramet::bind
