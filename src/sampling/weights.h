// What weights of edges may be, and the number in (0, 1) that a word stands for;
// docs/semantics.md, section 13.
#pragma once

#include <cstdint>

namespace ramet {

// Outside, numbers that are made of weights, or their sums, are too large or too small for a
// double's precision.
inline constexpr double kSmallestWeight = 1e-290, kLargestWeight = 1e290;

constexpr bool is_weight(double value) {
  return (value >= kSmallestWeight && value <= kLargestWeight) || value == 0;
}

// A word as a number in (0, 1), exact.
constexpr double fraction_of(uint64_t word) {
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}

}  // namespace ramet
