// DeviceArray: what Python says of a tensor's memory on a device. Keeps nothing alive.
#pragma once

#include <variant>

#include "arrays.h"

namespace ramet::bind {

struct DeviceArray {
  Array array;
};

// Rows that Python hands in, on the host or on a device.
using AnyRows = std::variant<Array, DeviceArray>;

// `bfloat16`: an array of the host holds the bits.
[[nodiscard]] inline Array borrow(const AnyRows& rows, bool bfloat16 = false) {
  if (const auto* there = std::get_if<DeviceArray>(&rows)) return there->array;
  Array array = std::get<Array>(rows);
  if (bfloat16) array.dtype = DType::kBFloat16;
  return array;
}

}  // namespace ramet::bind
