// Names of files, which may hold any bytes: they cross as bytes, and os.fsencode and os.fsdecode
// stand at the other end.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace ramet::bind {

namespace nb = nanobind;

[[nodiscard]] inline std::string to_string(const nb::bytes& path) {
  return {path.c_str(), path.size()};
}

[[nodiscard]] inline nb::bytes to_bytes(const std::string& path) {
  return nb::bytes(path.data(), path.size());
}

}  // namespace ramet::bind
