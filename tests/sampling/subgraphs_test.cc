// Minibatches that nodes induce, and what clusters and samples of GraphSAINT refuse.
// docs/semantics.md, section 26; tests/python/subgraphs compares them with a twin.
#include "ramet/subgraphs.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "ramet/error.h"
#include "ramet/induced.h"
#include "support/graph_fixture.h"

using namespace ramet;

namespace {

ClusteredNodes clustered(const std::vector<int64_t>& offsets, const std::vector<int64_t>& ids) {
  return {copy(borrow(offsets)), copy(borrow(ids))};
}

std::vector<int64_t> to_vector(const Array& array) {
  const auto values = array.as<int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a minibatch that nodes induce has their edges as one block") {
  const auto graph = test::make_graph(200, 3000, 5);
  std::vector<int64_t> nodes(90);
  for (size_t i = 0; i < nodes.size(); ++i)
    nodes[i] = static_cast<int64_t>(i * 7 % 200);
  const Seeds seeds{.type = 0, .ids = nodes};
  const Minibatch batch = induced_minibatch(*graph, {&seeds, 1}, *BufferPool::shared());
  const std::vector<int64_t> offsets = {0, std::ssize(nodes)};
  const NodeGroups group{nodes, offsets};
  const auto expected = induced_edges(*graph, 0, group, group, EdgeOrder::kByDestination);
  CHECK(expected.position.rows() > 500);
  CHECK(batch.merged);
  CHECK(batch.num_seeds == 90);
  CHECK(to_vector(batch.n_id[0]) == nodes);
  CHECK(num_sampled_nodes(batch, 0) == std::vector<int64_t>{90, 0});
  CHECK(to_vector(merged_edge_index(*graph, batch, 0)) == to_vector(expected.edge_index));
  CHECK(to_vector(merged_positions(batch, 0)) == to_vector(expected.position));
}

TEST_CASE("clusters that do not fit are refused") {
  const auto graph = test::make_graph(10, 20, 5);
  const auto make = [&](std::vector<ClusteredNodes> of_types) {
    return make_clusters(*graph, std::move(of_types));
  };
  CHECK(make({clustered({0, 2, 2, 3}, {4, 9, 0})})->num_items() == 3);
  CHECK_THROWS_WITH_AS(make({}), "clusters of 0 node types, expected those of 1", Error);
  CHECK_THROWS_WITH_AS(make({clustered({0, 2}, {4, 10})}),
                       "a node of a cluster is 10, outside [0, 10)", Error);
  CHECK_THROWS_WITH_AS(make({clustered({0, 1}, {4, 9})}),
                       "offsets of clusters go from 0 to 1, expected 0 to 2", Error);
  CHECK_THROWS_WITH_AS(make({clustered({0, 2, 1, 2}, {4, 9})}),
                       "offsets of clusters decrease at 2, from 2 to 1", Error);
  CHECK_THROWS_WITH_AS(make({clustered({}, {})}),
                       "offsets of clusters are int64[0], expected int64 [clusters + 1]", Error);
}

TEST_CASE("samples that do not fit are refused") {
  const auto graph = test::make_graph(10, 20, 5);
  const auto make = [&](const SaintOptions& options) {
    return make_saint(graph, {.graph = graph}, options);
  };
  CHECK(make({.num_steps = 7})->num_items() == 7);
  CHECK_THROWS_WITH_AS(make({.batch_size = 0}), "batch_size is 0, not 1 or more", Error);
  CHECK_THROWS_WITH_AS(make({.walk_length = -1}), "walk_length is -1, not 0 or more", Error);
  CHECK_THROWS_WITH_AS(make({.num_steps = 0}), "num_steps is 0, not 1 or more", Error);
  CHECK_THROWS_WITH_AS(make_saint(graph, {.graph = test::make_graph(9, 20, 5)}, {}),
                       "the edges by source are not those of a graph with 10 nodes", Error);
  CHECK_THROWS_WITH_AS(make_saint(graph, {}, {.sampler = SaintSampler::kEdge}),
                       "the edges by source are not those of a graph with 10 nodes", Error);
  CHECK_THROWS_WITH_AS(parse_saint_sampler("roots"),
                       "sampler is 'roots', expected 'node', 'edge' or 'walk'", Error);
}
