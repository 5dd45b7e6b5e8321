#include "cached_pages.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "cached_nodes.h"
#include "ramet/cuda_sampler.h"

namespace ramet {
namespace {

constexpr int64_t kPage = CudaGraph::kPage;
constexpr double kPicks = 10;  // of a row, roughly

struct Page {
  float reads_per_byte;
  int32_t edge_type;
  int64_t number;
};

// How often each whole page of an edge type is read, whose nodes are used so often. Rows of a store
// that overlap count once.
std::vector<double> reads_of_pages(const Graph& graph,
                                   const EdgeType& edges,
                                   const std::vector<int64_t>& uses) {
  const NodeRows& nodes = graph.node_types()[static_cast<size_t>(edges.dst)].rows;
  const Array of_rows = nodes.is_whole() ? Array() : nodes.nodes();
  const auto indptr = edges.indptr.as<int64_t>();
  std::vector<double> reads(static_cast<size_t>(edges.num_edges() / kPage));
  int64_t begin = 0;
  for (size_t row = 0; row + 1 < indptr.size(); ++row) {
    begin = std::max(begin, indptr[row]);
    const size_t node = nodes.is_whole() ? row : static_cast<size_t>(of_rows.as<int64_t>()[row]);
    const int64_t end = std::min(indptr[row + 1], std::ssize(reads) * kPage);
    const double picked = kPicks / static_cast<double>(std::max<int64_t>(end - begin, 1));
    for (; begin < end; begin = std::min(end, (begin / kPage + 1) * kPage)) {
      const int64_t there = std::min(end, (begin / kPage + 1) * kPage) - begin;
      reads[static_cast<size_t>(begin / kPage)] +=
          static_cast<double>(uses[node]) * std::min(1.0, picked * static_cast<double>(there));
    }
  }
  return reads;
}

}  // namespace

std::vector<std::vector<int64_t>> hottest_pages(const Graph& graph, int64_t bytes) {
  const std::vector<EdgeType>& types = graph.edge_types();
  std::vector<std::vector<int64_t>> chosen(types.size());
  std::vector<Page> pages;
  std::map<int, std::vector<int64_t>> uses;  // by node type
  for (size_t type = 0; type < types.size(); ++type) {
    const int dst = types[type].dst;
    if (!uses.contains(dst)) uses[dst] = uses_by_some_edges(graph, dst);
    const std::vector<double> reads = reads_of_pages(graph, types[type], uses[dst]);
    const auto page_bytes = static_cast<double>(kPage * types[type].indices.row_bytes());
    bytes -= std::ssize(reads) * int64_t{sizeof(int32_t)};
    for (size_t page = 0; page < reads.size(); ++page)
      pages.push_back({static_cast<float>(reads[page] / page_bytes), static_cast<int32_t>(type),
                       static_cast<int64_t>(page)});
  }
  std::sort(pages.begin(), pages.end(), [](const Page& a, const Page& b) {
    return std::tuple(-a.reads_per_byte, a.edge_type, a.number) <
           std::tuple(-b.reads_per_byte, b.edge_type, b.number);
  });
  for (const Page& page : pages) {
    const auto type = static_cast<size_t>(page.edge_type);
    bytes -= kPage * types[type].indices.row_bytes();
    if (bytes < 0 || page.reads_per_byte == 0) break;
    chosen[type].push_back(page.number);
  }
  for (std::vector<int64_t>& of_type : chosen)
    std::sort(of_type.begin(), of_type.end());
  return chosen;
}

}  // namespace ramet
