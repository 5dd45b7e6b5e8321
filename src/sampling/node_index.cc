#include "node_index.h"

#include <algorithm>

#include "ramet/parallel.h"

namespace ramet {
namespace {

constexpr int64_t kSmallTableBytes = 64 << 10;
constexpr int64_t kShareOfGraph = 8;
constexpr int64_t kBytesPerNode = sizeof(uint32_t);

int64_t table_bytes(const std::map<std::string, Array>& tables) {
  int64_t bytes = 0;
  for (const auto& [name, table] : tables)
    bytes += table.bytes();
  return bytes;
}

int64_t graph_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const NodeType& type : graph.node_types())
    bytes += table_bytes(type.tables);
  for (const EdgeType& type : graph.edge_types())
    bytes += type.indptr.bytes() + type.indices.bytes() + table_bytes(type.tables);
  return bytes;
}

}  // namespace

bool affords_direct_table(const Graph& graph, int64_t num_nodes) {
  // Divided, not multiplied: a type without tables has as many nodes as somebody wrote down.
  const int64_t share_bytes = graph_bytes(graph) / kShareOfGraph / machine_threads();
  return num_nodes <= std::max(kSmallTableBytes, share_bytes) / kBytesPerNode;
}

}  // namespace ramet
