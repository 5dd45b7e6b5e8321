// What weights of edges may be, and the number in (0, 1) that a word stands for;
// docs/semantics.md, section 13.
#pragma once

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

}  // namespace ramet
