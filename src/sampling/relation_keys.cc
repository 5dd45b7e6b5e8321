#include "relation_keys.h"

#include "ramet/store.h"

namespace ramet {

RelationKeys::RelationKeys(const Graph& graph, const Method& method) {
  const auto* labor = std::get_if<Labor>(&method);
  layer_dependent_ = labor != nullptr && labor->layer_dependent;
  for (const EdgeType& edges : graph.edge_types()) {
    const NodeType& sources = graph.node_types()[static_cast<size_t>(edges.src)];
    hash_.push_back(labor != nullptr ? hash_name(encode_name(sources.name)) : edges.name_hash);
  }
}

}  // namespace ramet
