#include "ramet/generate.h"

#include <doctest/doctest.h>

#include "ramet/error.h"
#include "ramet/graph.h"
#include "support/graph_fixture.h"

using namespace ramet;

namespace {

const PlantedOptions kSmall{.num_nodes = 5000,
                            .num_edges = 50'000,
                            .communities = 10,
                            .classes = 5,
                            .feature_width = 8,
                            .seed = 3};

}  // namespace

TEST_CASE("the generated graph is the same for any number of threads") {
  test::require_equal(generate_planted(kSmall, 1), generate_planted(kSmall, 4));
}

TEST_CASE("the generated graph is valid, homophilous and has hubs") {
  const auto graph = Graph::from_store(make_segment(generate_planted(kSmall)));
  validate(*graph);
  const EdgeType& edges = graph->edge_types().front();
  const auto indptr = edges.indptr.as<int64_t>();
  const auto indices = edges.indices.as<int32_t>();
  const auto label = graph->node_types().front().tables.at("label").as<int64_t>();
  int64_t same = 0, max_degree = 0;
  for (size_t v = 0; v + 1 < indptr.size(); ++v) {
    max_degree = std::max(max_degree, indptr[v + 1] - indptr[v]);
    for (int64_t p = indptr[v]; p < indptr[v + 1]; ++p) {
      same += label[v] == label[static_cast<size_t>(indices[static_cast<size_t>(p)])];
    }
  }
  const double mean_degree = static_cast<double>(edges.num_edges()) / 5000;
  CHECK(static_cast<double>(same) > 0.6 * static_cast<double>(edges.num_edges()));
  CHECK(static_cast<double>(max_degree) > 10 * mean_degree);
  CHECK(graph->splits().size() == 3);
}

TEST_CASE("bad options are named") {
  PlantedOptions options = kSmall;
  options.communities = 0;
  CHECK_THROWS_WITH_AS(generate_planted(options),
                       "generate: communities is 0, expected 1 to num_nodes = 5000", Error);
  options = kSmall;
  options.homophily = 1.5;
  CHECK_THROWS_AS(generate_planted(options), Error);
}
