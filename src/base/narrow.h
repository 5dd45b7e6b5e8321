// Float32 rows as float16 and bfloat16.
#pragma once

#include <cstdint>

#include "ramet/array.h"

namespace ramet {

// How a value between two neighbors of the narrow type is rounded: to the nearest, ties to even; or
// to either, with a probability that makes it right in the mean. A value becomes infinite only
// where the nearest is.
enum class Rounding : uint8_t { kNearest, kStochastic };

[[nodiscard]] constexpr bool is_narrow(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16;
}

// out[i] = values[i] as `dtype`, which is kFloat16, kBFloat16 or kFloat32. A stochastic rounding
// takes 16 bits for each element from words absorb(key, 0), absorb(key, 1), ..., the low ones
// first.
void narrow_row(const float* values,
                int64_t width,
                DType dtype,
                void* out,
                Rounding rounding = Rounding::kNearest,
                uint64_t key = 0);

// The inverse, exact.
void widen_row(const void* values, int64_t width, DType dtype, float* out);

}  // namespace ramet
