#include "node_index.h"

#include "ramet/parallel.h"

namespace ramet {
namespace {

constexpr int64_t kSmallTableBytes = 64 << 10;
constexpr int64_t kShareOfGraph = 8;

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
  const int64_t bytes = num_nodes * static_cast<int64_t>(sizeof(uint32_t));
  return bytes <= kSmallTableBytes ||
         bytes * hardware_threads() <= graph_bytes(graph) / kShareOfGraph;
}

}  // namespace ramet
