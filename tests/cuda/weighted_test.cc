// Samplers that pick the smallest of a number per in-edge, or draw by weights, against the host's.
#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "ramet/error.h"
#include "ramet/random.h"

namespace ramet::test {
namespace {

SampleOptions weighted(std::vector<int64_t> fanouts, bool replace, int64_t dependent = 1) {
  return {{std::move(fanouts)}, Weighted{.table = "w", .replace = replace}, 4, dependent};
}

SampleOptions labor(std::vector<int64_t> fanouts,
                    int64_t iterations,
                    Weights weights = Weights::kNormalized) {
  const Labor method{.iterations = iterations, .weights = weights, .table = "w"};
  return {{std::move(fanouts)}, method, 4};
}

SampleOptions dependent(std::vector<int64_t> fanouts) {
  return {{std::move(fanouts)}, Uniform{}, 4, 4};
}

TEST_CASE("weighted minibatches are the host's") {
  const auto narrow = weighted_graph<float>(300, 2800, 11);
  const auto wide = weighted_graph<double>(300, 2800, 12);
  for (const bool replace : {false, true}) {
    CAPTURE(replace);
    check_against_host(narrow, weighted({4, 0, 15, 1}, replace), kSeeds);
    check_against_host(wide, weighted({5, 40}, replace), kSeeds);
    check_against_host(narrow, weighted({-1, 3}, replace), kSeeds);
    check_against_host(wide, weighted({300, 2}, replace), kSeeds, 0, 1);
    check_against_host(wide, weighted({5, 3}, replace, 4), kSeeds, 0, 3);
    check_against_host(wide, weighted({3}, replace), {});
  }
}

TEST_CASE("tries keep what they took in lanes, or in memory") {
  EdgeList edges = random_edges(40, 40, 8000, 3);
  for (size_t e = 0; e < edges.dst.size(); ++e)
    edges.dst[e] = static_cast<int64_t>(e / 200);
  const std::vector<float> weights(8000, 0.5f);
  StoreContents contents = one_type(csc_of(edges, 40, 40), 40);
  contents.arrays.emplace_back("edge/node__to__node/w", borrow(weights));
  const auto graph = graph_of(contents);
  for (const int64_t fanout : {31, 32, 33, 60})
    check_against_host(graph, weighted({fanout}, false), {1, 5, 39}, 0, 1);
}

// docs/semantics.md, section 8.
TEST_CASE("minibatches of LABOR by weights, and their weights, are the host's") {
  const auto narrow = weighted_graph<float>(300, 2800, 11);
  const auto wide = weighted_graph<double>(300, 2800, 12);
  const auto hubs = weighted_graph<float>(2000, 60'000, 5);
  for (const int64_t iterations : {0, 1, 3}) {
    CAPTURE(iterations);
    check_against_host(narrow, labor({4, 0, 15, 1}, iterations), kSeeds);
    check_against_host(wide, labor({-1, 3}, iterations, Weights::kHorvitzThompson), kSeeds, 0, 1);
    check_against_host(wide, labor({3}, iterations), {});
    check_against_host(hubs, labor({10}, iterations), {7, 11, 1, 8}, 0, 1);
  }
}

TEST_CASE("uniform minibatches that depend on each other are the host's") {
  const auto graph = uneven_graph(300, 2800, 13);
  check_against_host(graph, dependent({4, 0, 15, 1}), kSeeds, 0, 4);
  check_against_host(graph, dependent({300, -1}), kSeeds);
  const SampleOptions typed{std::vector<std::vector<int64_t>>(5, {4, 3}), Uniform{}, 4, 4};
  check_against_host(typed_graph(21), typed, {8, 1, 8, 3}, 1);
}

TEST_CASE("hubs, and rows that are read by the part of the topology that they are in") {
  const auto hubs = weighted_graph<float>(2000, 60'000, 5);
  for (const int64_t fanout : {10, 1500}) {
    for (const bool replace : {false, true})
      check_against_host(hubs, weighted({fanout}, replace), {7, 11, 1, 8}, 0, 1);
    check_against_host(hubs, dependent({fanout}), {7, 11, 1, 8}, 0, 2);
  }
  constexpr int64_t kNodes = 50'000;
  const auto large = weighted_graph<float>(kNodes, 600'000, 6);
  std::vector<int64_t> seeds{7, 7};
  for (int64_t i = 0; i < 60; ++i)
    seeds.push_back(i * 7919 % kNodes);
  for (const bool replace : {false, true})
    check_against_host(large, weighted({5}, replace), seeds, 0, 1);
}

TEST_CASE("what is no weight is named as on the host, and samplers stay usable") {
  for (const double bad : {-1.0, 1e-300, __builtin_nan("")}) {
    Csc csc = csc_of(random_edges(40, 40, 400, 3), 40, 40);
    std::vector<double> weights(400, 1.0);
    const auto of_node_9 = static_cast<size_t>(csc.indptr.as<int64_t>()[9]);
    weights[of_node_9 + 2] = weights[of_node_9 + 4] = bad;
    StoreContents contents = one_type(csc, 40);
    contents.arrays.emplace_back("edge/node__to__node/w", borrow(weights));
    const auto graph = graph_of(contents);
    for (const SampleOptions& options :
         {weighted({3}, false), weighted({3}, true), labor({3}, 0), labor({3}, 1)}) {
      DeviceSampler device(graph, options);
      const std::vector<int64_t> bad_seeds{4, 9}, good_seeds{4, 8};
      CHECK_THROWS_WITH_AS(
          (void)device.sample(Seeds{0, bad_seeds}, 0, 0),
          doctest::Contains(concat("row ", of_node_9 + 2, " of table 'w' of edge type").c_str()),
          Error);
      require_same(NeighborSampler(graph, options).sample({0, good_seeds}, 0, 0),
                   to_host(device.sample(Seeds{0, good_seeds}, 0, 0)));
    }
  }
}

TEST_CASE("weights count for the memory of a copy, and are placed once") {
  const auto graph = weighted_graph<float>(300, 4000, 11);
  const int64_t without = CudaGraph::bytes_on_device(*graph, {});
  CHECK(CudaGraph::bytes_on_device(*graph, weighted({1}, false)) == without + 16'000);
  const auto placed = CudaGraph::create(graph, 0, Location::kDevice);
  const Array& weights = graph->edge_types()[0].tables.at("w");
  CHECK(placed->table(weights) == placed->table(weights));
}

}  // namespace
}  // namespace ramet::test
