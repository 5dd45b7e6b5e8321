// Between ramet::Array and the arrays of Python. Never copies.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <span>

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

// A view of Python's memory, valid while `array` lives.
[[nodiscard]] Array borrow(const AnyArray& array);
[[nodiscard]] inline std::span<const int64_t> borrow(const Ids& ids) {
  return {ids.data(), ids.size()};
}

// A copy; without data of nothing.
template <typename Values>
[[nodiscard]] Array copy_of(const std::optional<Values>& values) {
  return values ? copy(borrow(AnyArray(*values))) : Array{};
}

[[nodiscard]] Array borrow_out(const Buffer& out);

// Rows of Python's memory, valid while `array` lives. kInvalidArgument unless each row is
// contiguous.
[[nodiscard]] StridedRows borrow_rows(const StridedArray& array);

// The same, which keeps that memory alive. `bfloat16`: `array` holds the bits.
[[nodiscard]] Array keep(const AnyArray& array, bool writable, bool bfloat16 = false);

// A numpy array over ours, of the host, which it keeps alive; read-only unless the Array is
// writable.
[[nodiscard]] nb::object to_numpy(const Array& array);
// The same, or a torch tensor over an Array of a device.
[[nodiscard]] nb::object to_python(const Array& array);

}  // namespace ramet::bind
