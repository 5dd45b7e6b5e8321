#include "weights.h"

#include <algorithm>

#include "ramet/error.h"

namespace ramet {

void throw_bad_weight(double value,
                      int64_t position,
                      const std::string& table,
                      const EdgeType& edges) {
  throw_invalid("row ", position, " of table '", table, "' of edge type '", edges.encoded, "' is ",
                value, ": as a weight it must be 0, or from ", kSmallestWeight, " to ",
                kLargestWeight);
}

void check_weights(const std::string& table,
                   const std::vector<std::vector<int64_t>>& fanouts,
                   const Graph& graph) {
  for (size_t t = 0; t < graph.edge_types().size(); ++t) {
    const EdgeType& edges = graph.edge_types()[t];
    const auto is_empty = [](int64_t fanout) { return fanout == 0; };
    if (std::all_of(fanouts[t].begin(), fanouts[t].end(), is_empty)) continue;
    const auto found = edges.tables.find(table);
    if (found == edges.tables.end())
      throw_error(ErrorCode::kNotFound, "edge type '", edges.encoded, "' has no table '", table,
                  "', by which neighbors are to be drawn");
    const Array& weights = found->second;
    if ((weights.dtype != DType::kFloat32 && weights.dtype != DType::kFloat64) ||
        weights.shape.size() != 1) {
      throw_invalid("table '", table, "' of edge type '", edges.encoded, "' is ",
                    weights.describe(), ", expected one float32 or float64 per edge");
    }
  }
}

}  // namespace ramet
