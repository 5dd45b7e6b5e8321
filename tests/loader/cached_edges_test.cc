// The in-edges that have copies on a device, against reads counted in-edge by in-edge.
#include "loader/rows/cached_edges.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "ramet/cuda_sampler.h"
#include "support/graph_fixture.h"

using namespace ramet;

namespace {

// Of each whole group: its in-edges of each row are read min(1, 10 * share of the row) times for
// each out-edge of the row's node.
std::vector<double> reads_of(const Graph& graph) {
  const EdgeType& edges = graph.edge_types()[0];
  const auto indptr = edges.indptr.as<int64_t>();
  const std::vector<int64_t> out_degrees = test::out_degrees(graph);
  std::vector<std::map<size_t, double>> in_rows(
      static_cast<size_t>(edges.num_edges() / CudaGraph::kEdgeGroup));
  for (size_t row = 0; row + 1 < indptr.size(); ++row) {
    for (int64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
      const auto group = static_cast<size_t>(e / CudaGraph::kEdgeGroup);
      if (group < in_rows.size()) ++in_rows[group][row];
    }
  }
  std::vector<double> reads;
  for (const auto& rows : in_rows) {
    double& of_group = reads.emplace_back();
    for (const auto& [row, count] : rows) {
      const auto end = std::min(indptr[row + 1], std::ssize(in_rows) * CudaGraph::kEdgeGroup);
      of_group += static_cast<double>(out_degrees[row] + 1) *
                  std::min(1.0, 10 * count / static_cast<double>(end - indptr[row]));
    }
  }
  return reads;
}

}  // namespace

TEST_CASE("the groups that are read most are those of the nodes with most out-edges") {
  const auto graph = test::make_graph(400, 20'000, 3);
  const std::vector<double> reads = reads_of(*graph);
  REQUIRE(reads.size() == 156);
  const int64_t group_bytes = CudaGraph::kEdgeGroup * graph->edge_types()[0].indices.row_bytes();
  for (const int64_t count : {0, 1, 40, 156, 500}) {
    const auto groups = hottest_edges(*graph, 4 * 157 + count * group_bytes + 7);
    REQUIRE(groups.size() == 1);
    REQUIRE(std::ssize(groups[0]) == std::min<int64_t>(count, 156));
    CHECK(std::is_sorted(groups[0].begin(), groups[0].end()));
    double least = 1e300, most_left = 0;
    for (size_t group = 0; group < reads.size(); ++group) {
      const bool is_chosen = std::binary_search(groups[0].begin(), groups[0].end(), int64_t(group));
      if (is_chosen) least = std::min(least, reads[group]);
      if (!is_chosen) most_left = std::max(most_left, reads[group]);
    }
    CHECK(least >= most_left * (1 - 1e-6));
  }
}

TEST_CASE("rows of a damaged store are counted within it, and once") {
  Csc csc = test::csc_of(test::random_edges(7, 7, 1000, 3), 7, 7);
  const std::vector<int64_t> bounds{0,    300, 100, 900, std::numeric_limits<int64_t>::min(),
                                    5000, 700, 1000};
  std::copy(bounds.begin(), bounds.end(), static_cast<int64_t*>(csc.indptr.data));
  const auto graph = test::graph_of(test::one_type(csc, 7));
  CHECK(hottest_edges(*graph, 1 << 20)[0] == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6});
}
