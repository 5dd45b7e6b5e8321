#include "node_index.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/parallel.h"

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

int64_t direct_table_limit(const Graph& graph, std::span<const NodeRange> ranges) {
  // Divided, not multiplied: a type without tables has as many nodes as somebody wrote down.
  const int64_t share_bytes = graph_bytes(graph) / kShareOfGraph / machine_threads();
  int64_t left = std::max(kSmallTableBytes, share_bytes) / kBytesPerNode;
  std::vector<int64_t> sizes;
  for (const NodeRange& range : ranges)
    sizes.push_back(range.size());
  std::sort(sizes.begin(), sizes.end());
  // Sizes that are equal are within the limit together or not at all.
  int64_t limit = -1;
  for (auto first = sizes.begin(); first != sizes.end();) {
    const auto end = std::upper_bound(first, sizes.end(), *first);
    for (; first != end; ++first) {
      if (*first > left) return limit;
      left -= *first;
    }
    limit = *std::prev(end);
  }
  return limit;
}

}  // namespace ramet
