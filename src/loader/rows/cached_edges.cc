#include "cached_edges.h"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "cached_nodes.h"

namespace ramet {
namespace {

constexpr int64_t kGroup = CudaGraph::kEdgeGroup;
constexpr double kPicks = 10;  // of a row, roughly

struct Group {
  float reads_per_byte;
  int32_t edge_type;
  int64_t number;
};

bool is_hotter(const Group& a, const Group& b) {
  return std::tuple(-a.reads_per_byte, a.edge_type, a.number) <
         std::tuple(-b.reads_per_byte, b.edge_type, b.number);
}

// How often each whole group of an edge type is read, whose nodes are used so often, and may be
// seeds. Rows of a damaged store that overlap count once.
std::vector<double> reads_of_groups(const Graph& graph,
                                    const EdgeType& edges,
                                    const std::vector<int64_t>& uses) {
  const NodeRows& nodes = graph.node_types()[static_cast<size_t>(edges.dst)].rows;
  const Array own = nodes.is_whole() ? Array() : nodes.nodes();
  const auto node_of = nodes.is_whole() ? std::span<const int64_t>() : own.as<int64_t>();
  const auto indptr = edges.indptr.as<int64_t>();
  const int64_t whole = edges.num_edges() / kGroup * kGroup;
  std::vector<double> reads(static_cast<size_t>(whole / kGroup));
  int64_t begin = 0;
  for (size_t row = 0; row + 1 < indptr.size(); ++row) {
    begin = std::max(begin, indptr[row]);
    const int64_t end = std::min(indptr[row + 1], whole);
    if (begin >= end) continue;
    const size_t node = node_of.empty() ? row : static_cast<size_t>(node_of[row]);
    const double picked = kPicks / static_cast<double>(end - begin);
    for (int64_t next = 0; begin < end; begin = next) {
      next = std::min(end, (begin / kGroup + 1) * kGroup);
      reads[static_cast<size_t>(begin / kGroup)] +=
          static_cast<double>(uses[node] + 1) *
          std::min(1.0, picked * static_cast<double>(next - begin));
    }
  }
  return reads;
}

}  // namespace

CudaGraph::EdgeGroups hottest_edges(const Graph& graph, int64_t bytes) {
  const std::vector<EdgeType>& types = graph.edge_types();
  const auto bytes_of_group = [&](size_t type) { return kGroup * types[type].indices.row_bytes(); };
  std::vector<Group> groups;
  std::map<int, std::vector<int64_t>> uses;  // by node type
  for (size_t type = 0; type < types.size(); ++type) {
    const int dst = types[type].dst;
    if (!uses.contains(dst)) uses[dst] = uses_by_some_edges(graph, dst);
    const std::vector<double> reads = reads_of_groups(graph, types[type], uses[dst]);
    bytes -= (std::ssize(reads) + 1) * int64_t{sizeof(int32_t)};
    for (size_t number = 0; number < reads.size(); ++number) {
      const double per_byte = reads[number] / static_cast<double>(bytes_of_group(type));
      if (per_byte > 0)
        groups.push_back({static_cast<float>(per_byte), static_cast<int32_t>(type),
                          static_cast<int64_t>(number)});
    }
  }
  std::sort(groups.begin(), groups.end(), is_hotter);
  CudaGraph::EdgeGroups chosen(types.size());
  for (const Group& group : groups) {
    const auto type = static_cast<size_t>(group.edge_type);
    bytes -= bytes_of_group(type);
    if (bytes < 0) break;
    chosen[type].push_back(group.number);
  }
  for (std::vector<int64_t>& of_type : chosen)
    std::sort(of_type.begin(), of_type.end());
  return chosen;
}

}  // namespace ramet
