// Between ramet::Array and the arrays of Python. Never copies. And nanobind's casters of standard
// types, all of them: a source that lacked one would compile, and pass the type as an object that
// Python does not know.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/set.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/table.h"

namespace ramet::bind {

namespace nb = nanobind;

// Any contiguous CPU array that Python hands in: numpy, torch, whatever speaks DLPack.
using AnyArray = nb::ndarray<nb::c_contig, nb::device::cpu, nb::ro>;
// Of any strides.
using StridedArray = nb::ndarray<nb::device::cpu, nb::ro>;
using Ids = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Buffer = nb::ndarray<nb::c_contig, nb::device::cpu>;  // to be written to

// An argument that a function writes to, which is never converted. As arguments, Array and OutArray
// keep Python's memory alive; what none can be, such as a scalar, is a TypeError of the call. An
// Array that is returned becomes an array of Python, and None where it has no shape.
struct OutArray : Array {};

// `function` for Python, which writes to its argument number kOut.
template <size_t kOut, typename... Args>
auto writes(void (*function)(Args...)) {
  return [function]<size_t... I>(std::index_sequence<I...>) {
    return [function](std::conditional_t<I == kOut, const OutArray&, Args>... args) {
      function(args...);
    };
  }(std::index_sequence_for<Args...>());
}

// A view of Python's memory, valid while `array` lives.
[[nodiscard]] Array borrow(const AnyArray& array);
[[nodiscard]] inline std::span<const int64_t> borrow(const Ids& ids) {
  return {ids.data(), ids.size()};
}

// A copy; without data of nothing.
[[nodiscard]] inline Array copy_of(const std::optional<Array>& values) {
  return values ? copy(*values) : Array{};
}

// Rows of Python's memory, valid while `array` lives. kInvalidArgument unless each row is
// contiguous.
[[nodiscard]] StridedRows borrow_rows(const StridedArray& array);

// The same, which keeps that memory alive. `bfloat16`: `array` holds the bits.
[[nodiscard]] Array keep(const AnyArray& array, bool writable, bool bfloat16 = false);

// A numpy array over ours, of the host, which it keeps alive; read-only unless the Array is
// writable.
[[nodiscard]] nb::object to_numpy(const Array& array);
// The same, or a torch tensor over an Array of a device; None without a shape.
[[nodiscard]] nb::object to_python(const Array& array);

}  // namespace ramet::bind

namespace nanobind::detail {

template <>
struct type_caster<ramet::Array> {
  NB_TYPE_CASTER(ramet::Array, make_caster<ramet::bind::AnyArray>::Name)
  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept;
  static handle from_cpp(const Value& array, rv_policy policy, cleanup_list* cleanup) noexcept;
};

template <>
struct type_caster<ramet::bind::OutArray> {
  NB_TYPE_CASTER(ramet::bind::OutArray, make_caster<ramet::bind::Buffer>::Name)
  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept;
};

// Valid while the call's arguments live.
template <>
struct type_caster<std::span<const int64_t>> {
  using Value = std::span<const int64_t>;
  static constexpr auto Name = make_caster<ramet::bind::Ids>::Name;
  template <typename T>
  using Cast = Value;
  template <typename T>
  static constexpr bool can_cast() {
    return true;
  }
  bool from_python(handle source, uint32_t flags, cleanup_list* cleanup) noexcept {
    return ids.from_python(source, flags, cleanup);
  }
  operator Value() const { return {ids.value.data(), ids.value.size()}; }
  make_caster<ramet::bind::Ids> ids;
};

// None of it: an optional would keep the span alone, and not Python's memory. Take optional<Ids>.
template <>
struct type_caster<std::optional<std::span<const int64_t>>>;

}  // namespace nanobind::detail
