// Walks and negatives of a device against the CPU's, to the bit: docs/semantics.md, sections
// 22, 23.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "cuda/on_host.h"
#include "cuda/sampling_fixture.h"
#include "device/device_memory.h"
#include "ramet/error.h"
#include "ramet/negatives.h"
#include "ramet/walks.h"
#include "sampling/links/cuda_negatives.h"

namespace ramet::test {
namespace {

constexpr int64_t kWalkedNodes = 300, kWalkedEdges = 2800;

std::vector<int64_t> some_nodes(int64_t count) {
  std::vector<int64_t> nodes;
  for (int64_t i = 0; i < count; ++i)
    nodes.push_back(static_cast<int64_t>(mix64(static_cast<uint64_t>(i)) % kWalkedNodes));
  return nodes;
}

// On device 0.
Array there(std::vector<int64_t> shape, const std::vector<int64_t>& values) {
  const auto bytes = std::ssize(values) * int64_t{sizeof(int64_t)};
  const auto copy = copy_on(0, values.data(), bytes);
  return {copy.get(), DType::kInt64, std::move(shape), copy, true, 0};
}

// Its edges have ids, times "t", and sums "sums" of their weights. Times and sums ascend in each
// row.
template <typename Id>
std::shared_ptr<const Graph> graph_in_time(uint64_t key) {
  TypedCsc<Id> edges(uneven_edges(kWalkedNodes, kWalkedNodes, kWalkedEdges, key), kWalkedNodes,
                     kWalkedNodes);
  std::vector<Id> ids;
  for (int64_t i = 0; i < kWalkedEdges; ++i)
    ids.push_back(static_cast<Id>(kWalkedEdges - 1 - i));
  edges.csc.edge_ids = borrow(ids);
  std::vector<int64_t> times;
  std::vector<double> sums;
  const auto indptr = edges.csc.indptr.template as<int64_t>();
  const std::vector<double> weights = uneven_weights<double>(edges.csc);
  for (size_t row = 0; row + 1 < indptr.size(); ++row) {
    double sum = 0;
    for (int64_t i = indptr[row]; i < indptr[row + 1]; ++i) {
      times.push_back((i - indptr[row]) / 2);
      sums.push_back(sum += weights[static_cast<size_t>(i)]);
    }
  }
  StoreContents contents = one_type(edges.csc, kWalkedNodes);
  contents.arrays.emplace_back("edge/node__to__node/t", borrow(times));
  contents.arrays.emplace_back("edge/node__to__node/sums", borrow(sums));
  return graph_of(contents);
}

void check_walks(const std::vector<WalkEdges>& path, WalkOptions options) {
  options.edge_ids = true;
  const std::vector<int64_t> starts = some_nodes(400);
  const int64_t count = std::ssize(starts), length = options.length;
  std::map<int64_t, int64_t> seen;
  std::vector<int64_t> numbers;
  for (const int64_t start : starts)
    numbers.push_back(seen[start]++);
  const CudaStream stream(0);
  const Walks wanted = random_walks(path, starts, options);
  const std::vector<int64_t> empty(static_cast<size_t>(count * (length + 1)), 7);
  const Walks found{there({count, length + 1}, empty), there({count, length}, empty)};
  random_walks_on_device(path, there({count}, starts), there({count}, numbers), options, found,
                         stream.handle());
  CHECK(values_of<int64_t>(found.nodes) == values_of<int64_t>(wanted.nodes));
  CHECK(values_of<int64_t>(found.edge_ids) == values_of<int64_t>(wanted.edge_ids));
}

TEST_CASE_TEMPLATE("walks of a device are the CPU's", Id, int32_t, int64_t) {
  const auto graph = uneven_graph<Id>(kWalkedNodes, kWalkedEdges, 12);
  check_walks({{.graph = graph}}, {.length = 7, .restart = 0.2, .stop = 0.05});
  check_walks({{.graph = graph}}, {.length = 7, .node2vec = Node2Vec{0.25, 4}});
}

TEST_CASE("walks of a device along a metapath, by weights and in time, are the CPU's") {
  const std::vector<WalkEdges> path{
      {.graph = graph_in_time<int32_t>(12), .weight_sums = "sums", .times = "t"},
      {.graph = graph_in_time<int64_t>(13), .weight_sums = "sums", .times = "t"}};
  for (const bool decreasing : {false, true})
    check_walks(path, {.length = 7, .restart = 0.2, .decreasing = decreasing});
}

// Which draws nothing else than the CPU, and leaves it nothing where `decides`.
void check_negatives(const CudaNegatives& there,
                     const Pairs& pairs,
                     const NegativeOptions& options,
                     bool decides) {
  const CudaStream stream(0);
  const auto pool = DevicePool::shared(0)->on(stream.handle()), pinned = create_pinned_pool();
  const auto wanted = values_of<int64_t>(draw_negatives(pairs, options));
  CHECK(values_of<int64_t>(there.draw(pairs, options, pool, *pinned, stream.handle())) == wanted);
  if (decides)
    CHECK(values_of<int64_t>(there.draw_decided(pairs, options, pool, *pinned, stream.handle())) ==
          wanted);
}

TEST_CASE_TEMPLATE("negatives of a device are the CPU's", Id, int32_t, int64_t) {
  const auto graph = uneven_graph<Id>(kWalkedNodes, kWalkedEdges, 12);
  const std::vector<int64_t> sources = some_nodes(500), ids(sources.rbegin(), sources.rend());
  const Pairs pairs{.sources = sources, .destinations = ids, .ids = ids};
  const std::vector<int64_t> few{3, 7, 11};
  for (const Corrupt corrupt : {Corrupt::kDestination, Corrupt::kBoth, Corrupt::kPair}) {
    NegativeOptions options{.amount = 4,
                            .corrupt = corrupt,
                            .destinations = {.num_nodes = kWalkedNodes},
                            .sources = {.num_nodes = kWalkedNodes},
                            .edges = {{.graph = graph}},
                            .loops = false,
                            .when_none = WhenNone::kDrop};
    const CudaNegatives there(options, 0);
    check_negatives(there, pairs, options, true);
    options.sources.among = options.destinations.among = borrow(few);
    check_negatives(there, pairs, options, false);
  }
}

TEST_CASE("negatives of a device by weights, in time and of the past are the CPU's") {
  const auto graph = graph_in_time<int32_t>(12);
  const std::vector<int64_t> sources = some_nodes(500), ids(sources.rbegin(), sources.rend());
  std::vector<int64_t> times, created;
  for (int64_t i = 0; i < std::ssize(sources); ++i)
    times.push_back(i % 40);
  std::vector<double> sums;
  for (int64_t node = 0; node < kWalkedNodes; ++node) {
    created.push_back(node % 5);
    sums.push_back(static_cast<double>(node + node % 2));
  }
  const Pairs pairs{.sources = sources, .destinations = ids, .ids = ids, .times = times};
  const Candidates plain{.num_nodes = kWalkedNodes, .created = borrow(created)};
  Candidates by_weight = plain, past_sources = plain, past_destinations = plain;
  by_weight.weight_sums = borrow(sums);
  past_sources.past = PairRows{.graph = graph, .times = "t"};
  past_destinations.past = PairRows{.graph = graph, .by_source = true, .times = "t"};
  NegativeOptions options{.amount = 4,
                          .corrupt = Corrupt::kBoth,
                          .edges = {{.graph = graph, .times = "t"}},
                          .loops = false};
  for (const auto& [to, from] : {std::pair(plain, plain), std::pair(by_weight, by_weight),
                                 std::pair(past_destinations, past_sources)}) {
    options.destinations = to;
    options.sources = from;
    check_negatives(CudaNegatives(options, 0), pairs, options, true);
  }
  const auto draw = [&](std::span<const int64_t> some_times) {
    const CudaStream stream(0);
    const auto pool = DevicePool::shared(0)->on(stream.handle()), pinned = create_pinned_pool();
    const Pairs wrong{.sources = sources, .destinations = ids, .ids = ids, .times = some_times};
    (void)CudaNegatives(options, 0).draw(wrong, options, pool, *pinned, stream.handle());
  };
  CHECK_THROWS_WITH_AS(draw(std::span(times).first(7)), doctest::Contains("500 ids and 7 times"),
                       Error);
  CHECK_THROWS_WITH_AS(draw({}), doctest::Contains("are for pairs with times"), Error);
}

TEST_CASE("without a source there is no destination") {
  const std::vector<int64_t> nodes{0, 1, 2}, times{4, 6, 4},
      created(static_cast<size_t>(kWalkedNodes), 5);
  const Pairs pairs{.sources = nodes, .destinations = nodes, .ids = nodes, .times = times};
  const NegativeOptions options{.amount = 2,
                                .corrupt = Corrupt::kPair,
                                .destinations = {.num_nodes = kWalkedNodes},
                                .sources = {.num_nodes = kWalkedNodes, .created = borrow(created)},
                                .edges = {{.graph = uneven_graph(kWalkedNodes, kWalkedEdges, 12)}},
                                .when_none = WhenNone::kDrop};
  check_negatives(CudaNegatives(options, 0), pairs, options, false);
  const auto drawn = values_of<int64_t>(draw_negatives(pairs, options));
  CHECK(std::count(drawn.begin(), drawn.end(), kNoNegative) == 4);
}

}  // namespace
}  // namespace ramet::test
