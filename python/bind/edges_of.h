// Edge types as Python names them.
#pragma once

#include <string>
#include <tuple>

#include "ramet/graph.h"

namespace ramet::bind {

using Triple = std::tuple<std::string, std::string, std::string>;

inline Triple triple_of(const EdgeTypeName& name) {
  return {name.src, name.relation, name.dst};
}

inline const EdgeType& edges_of(const Graph& graph, const Triple& type) {
  const auto& [src, relation, dst] = type;
  return graph.edge_types()[static_cast<size_t>(graph.edge_type({src, relation, dst}))];
}

}  // namespace ramet::bind
