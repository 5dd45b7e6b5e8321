// Store::reverses() as Python has them: (encoded edge type, number of input edges) by edge type.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "ramet/store.h"

namespace ramet::bind {

using Reverses = std::map<std::string, std::tuple<std::string, int64_t>>;

inline Reverses to_tuples(const std::map<std::string, Reverse>& reverses) {
  Reverses tuples;
  for (const auto& [type, reverse] : reverses)
    tuples[type] = {reverse.edge_type, reverse.num_input_edges};
  return tuples;
}

inline std::map<std::string, Reverse> from_tuples(const Reverses& tuples) {
  std::map<std::string, Reverse> reverses;
  for (const auto& [type, reverse] : tuples)
    reverses[type] = {std::get<0>(reverse), std::get<1>(reverse)};
  return reverses;
}

}  // namespace ramet::bind
