// Shapes that come from outside: checked before anything is computed from them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ramet/array.h"

namespace ramet {

inline constexpr size_t kMaxDimensions = 8;

// Why no array has this shape, or "": 1 to 8 dimensions, none negative, and a number of bytes
// that fits 63 bits, also for a row of an array without rows.
[[nodiscard]] std::string shape_problem(DType dtype, const std::vector<int64_t>& shape);

// Bytes of an array; only for shapes without a problem.
[[nodiscard]] int64_t array_bytes(DType dtype, const std::vector<int64_t>& shape);

// The extents with `comma` between them.
[[nodiscard]] std::string shape_text(const std::vector<int64_t>& shape, const char* comma);

}  // namespace ramet
