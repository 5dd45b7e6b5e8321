// The pages of in-edges that a device has a copy of, against reads counted in-edge by in-edge.
#include "loader/rows/cached_pages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "ramet/cuda_sampler.h"
#include "support/graph_fixture.h"

using namespace ramet;

namespace {

// Of each whole page: its in-edges of each row are read min(1, 10 * share of the row) times for
// each out-edge of the row's node.
std::vector<double> reads_of(const Graph& graph) {
  const EdgeType& edges = graph.edge_types()[0];
  const auto indptr = edges.indptr.as<int64_t>();
  const std::vector<int64_t> out_degrees = test::out_degrees(graph);
  std::vector<std::map<size_t, double>> in_rows(
      static_cast<size_t>(edges.num_edges() / CudaGraph::kPage));
  for (size_t row = 0; row + 1 < indptr.size(); ++row) {
    for (int64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
      const auto page = static_cast<size_t>(e / CudaGraph::kPage);
      if (page < in_rows.size()) ++in_rows[page][row];
    }
  }
  std::vector<double> reads;
  for (const auto& rows : in_rows) {
    double& of_page = reads.emplace_back();
    for (const auto& [row, count] : rows) {
      const auto end = std::min(indptr[row + 1], std::ssize(in_rows) * CudaGraph::kPage);
      of_page += static_cast<double>(out_degrees[row]) *
                 std::min(1.0, 10 * count / static_cast<double>(end - indptr[row]));
    }
  }
  return reads;
}

}  // namespace

TEST_CASE("the pages that are read most are those of the nodes with most out-edges") {
  const auto graph = test::make_graph(400, 20'000, 3);
  const std::vector<double> reads = reads_of(*graph);
  REQUIRE(reads.size() == 156);
  const int64_t page_bytes = CudaGraph::kPage * graph->edge_types()[0].indices.row_bytes();
  for (const int64_t count : {0, 1, 40, 156, 500}) {
    const auto pages = hottest_pages(*graph, 4 * 156 + count * page_bytes + 7);
    REQUIRE(pages.size() == 1);
    REQUIRE(std::ssize(pages[0]) == std::min<int64_t>(count, 156));
    CHECK(std::is_sorted(pages[0].begin(), pages[0].end()));
    double least = 1e300, most_left = 0;
    for (size_t page = 0; page < reads.size(); ++page) {
      const bool is_chosen = std::binary_search(pages[0].begin(), pages[0].end(), int64_t(page));
      if (is_chosen) least = std::min(least, reads[page]);
      if (!is_chosen) most_left = std::max(most_left, reads[page]);
    }
    CHECK(least >= most_left * (1 - 1e-6));
  }
}
