// What weights of edges may be, and the number in (0, 1) that a word stands for;
// docs/semantics.md, section 13.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ramet/graph.h"

namespace ramet {

// Outside, numbers that are made of weights, or their sums, are too large or too small for a
// double's precision.
inline constexpr double kSmallestWeight = 1e-290, kLargestWeight = 1e290;

constexpr bool is_weight(double value) {
  return (value >= kSmallestWeight && value <= kLargestWeight) || value == 0;
}

[[noreturn]] void throw_bad_weight(double value,
                                   int64_t position,
                                   const std::string& table,
                                   const EdgeType& edges);

// Of the edge at `position`. kInvalidArgument for what is no weight.
template <typename Weight>
double checked_weight(std::span<const Weight> weights,
                      int64_t position,
                      const std::string& table,
                      const EdgeType& edges) {
  const auto value = static_cast<double>(weights[static_cast<size_t>(position)]);
  if (!is_weight(value)) throw_bad_weight(value, position, table, edges);
  return value;
}

// Throws kNotFound or kInvalidArgument unless every edge type with a fanout has the table: float32
// or float64, one number per edge.
void check_weights(const std::string& table,
                   const std::vector<std::vector<int64_t>>& fanouts,
                   const Graph& graph);

// A word as a number in (0, 1), exact.
constexpr double fraction_of(uint64_t word) {
  return (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;
}

// The negative logarithm of a fraction, of + - x / alone, so that its bits are the same everywhere:
// u = m 2^e with m about 1, and log m = 2 atanh((m - 1) / (m + 1)) by its series.
inline double minus_log(double u) {
  int e = 0;
  double m = std::frexp(u, &e);  // exact, in [1/2, 1)
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    --e;
  }
  const double f = (m - 1) / (m + 1), square = f * f;
  double sum = 0;
  for (int n = 21; n > 0; n -= 2)
    sum = sum * square + 1.0 / n;
  return -e * 0x1.62e42fefa39efp-1 - 2 * f * sum;
}

}  // namespace ramet
