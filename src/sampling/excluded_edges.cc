#include "excluded_edges.h"

#include "ramet/error.h"

namespace ramet {

void check_excluded(const EdgeType& edges, std::span<const int64_t> positions) {
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t position = positions[i];
    if (static_cast<uint64_t>(position) >= static_cast<uint64_t>(edges.num_edges()))
      throw_error(ErrorCode::kOutOfRange, "excluded[", i, "] = ", position, " is outside [0, ",
                  edges.num_edges(), ") of edge type '", edges.encoded, "'");
    if (i > 0 && position <= positions[i - 1])
      throw_invalid("excluded[", i, "] = ", position, " of edge type '", edges.encoded,
                    "' follows ", positions[i - 1], ": positions ascend, each once");
  }
}

std::vector<std::vector<int64_t>> excluded_by_type(const Graph& graph,
                                                   std::span<const ExcludedEdges> excluded) {
  if (excluded.empty()) return {};
  const auto& types = graph.edge_types();
  std::vector<std::vector<int64_t>> by_type(types.size());
  for (const auto& [edge_type, positions] : excluded) {
    require_index(edge_type, std::ssize(types), "edge type of excluded edges");
    const auto type = static_cast<size_t>(edge_type);
    if (!by_type[type].empty())
      throw_invalid("excluded edges name edge type '", types[type].encoded,
                    "' twice, expected each type once");
    by_type[type].assign(positions.begin(), positions.end());
    check_excluded(types[type], by_type[type]);
  }
  return by_type;
}

}  // namespace ramet
