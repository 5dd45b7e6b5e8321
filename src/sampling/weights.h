// What weights of edges may be, and the number in (0, 1) that a word stands for;
// docs/semantics.md, section 13.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/exponential_lanes.h"
#include "base/lanes_scalar.h"
#include "kernels/cpu/weighted_scan.h"
#include "ramet/graph.h"

namespace ramet {

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
inline double fraction_of(uint64_t word) {
  return fraction_lanes<Scalar>(word);
}

// The negative logarithm of a fraction.
inline double minus_log(double u) {
  return minus_log_lanes<Scalar>(u);
}

}  // namespace ramet
