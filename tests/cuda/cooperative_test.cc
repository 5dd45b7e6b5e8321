// Ranks that cooperate, whose devices draw: their minibatches are those of ranks on processors, bit
// for bit. docs/semantics.md, sections 10 and 12.
#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "cuda/timed_graph.h"
#include "ramet/error.h"
#include "support/cooperative_fixture.h"
#include "support/errors.h"

namespace ramet::test {
namespace {

constexpr int64_t kRanks = 3;

DrawingDevice device_of(const std::shared_ptr<const Graph>& graph, RowOrder order) {
  return {CudaGraph::create(graph, 0, Location::kDevice), DevicePool::create(0), order};
}

std::vector<Array> arrays_of(const Minibatch& batch) {
  std::vector<Array> arrays;
  for_each_array(batch, [&](const Array& array) { arrays.push_back(array); });
  return arrays;
}

void check_against_host(const std::shared_ptr<const Graph>& graph,
                        SampleOptions options,
                        int seed_type = 0) {
  options.fanouts.resize(graph->edge_types().size(), {4, 3, 2});
  for (const Expand expand : {Expand::kEvery, Expand::kOnce}) {
    options.expand = expand;
    const Owners owners = by_hash(*graph, kRanks);
    Ranks on_host(graph, options, owners);
    Ranks on_device(graph, options, owners, 1, device_of(graph, RowOrder::kSorted));
    for (uint64_t step = 0; step < 2; ++step) {
      // A batch that is given up in the middle leaves nothing behind.
      if (step == 1) on_device.receive(deliver(on_device.start(seed_type, kSeeds, 1, 5)));
      const auto expected = on_host.sample(seed_type, kSeeds, 1, step);
      const auto given = on_device.sample(seed_type, kSeeds, 1, step);
      for (size_t rank = 0; rank < expected.size(); ++rank) {
        CAPTURE(rank);
        REQUIRE(given[rank].blocks[0].relations[0].indptr.device == 0);
        const Minibatch copied = to_host(given[rank]);
        require_same(expected[rank], copied);
        const auto theirs = arrays_of(expected[rank]), ours = arrays_of(copied);
        REQUIRE(ours.size() == theirs.size());
        for (size_t i = 0; i < ours.size(); ++i)
          require_same(theirs[i], ours[i]);
      }
    }
  }
}

}  // namespace

TEST_CASE("ranks whose devices draw make the minibatches of processors") {
  const auto graph = uneven_graph(300, 2800, 11);
  check_against_host(graph, {{}, Uniform{}, 77});
  check_against_host(graph, {{{-1, 2}}, Uniform{.replace = true}, 78});
  for (const int64_t iterations : {0, 1, 3})
    check_against_host(graph, {{}, Labor{.iterations = iterations}, 79});
  const auto weighted = weighted_graph<float>(300, 2800, 12);
  check_against_host(weighted, {{}, Weighted{"w"}, 80});
  check_against_host(weighted, {{}, Labor{.iterations = 2, .table = "w"}, 81});
  check_against_host(typed_graph(13), {.fanouts = {}, .seed = 81, .dependent = 3}, 1);
}

TEST_CASE("budgets are for processors alone, also where ranks cooperate") {
  const auto graph = uneven_graph(300, 2800, 13);
  const SampleOptions options{{{5}}, Budget{}, 3, 1, Expand::kOnce};
  CHECK_THROWS_WITH_AS(
      Ranks(graph, options, by_hash(*graph, kRanks), 1, device_of(graph, RowOrder::kSorted)),
      "sampling by a budget of nodes runs on the CPU, not on a device", Error);
}

// docs/semantics.md, sections 10, 15 and 16.
TEST_CASE("disjoint trees of ranks whose devices draw are those of processors") {
  const auto graph = timed_graph(false, Rows::kUnsorted);
  const auto check = [](const std::shared_ptr<const Graph>& of, const Method& method,
                        const std::optional<Time>& time = {}, int seed_type = 0) {
    check_against_host(of, {.fanouts = {}, .method = method, .disjoint = true, .time = time},
                       seed_type);
  };
  check(graph, Uniform{});
  check(graph, Uniform{.replace = true});
  check(graph, Labor{});
  check(graph, Labor{.iterations = 2});
  check(typed_graph(13), Uniform{}, {}, 1);
  for (const Rows rows : {Rows::kSorted, Rows::kUnsorted}) {
    const auto timed = timed_graph(false, rows);
    check(timed, Weighted{"w"}, Time{.table = "time"});
    check(timed, Labor{.iterations = 1}, Time{.table = "time"});
    for (const Comparison comparison : {Comparison::kAtMost, Comparison::kAfter})
      check(timed, Uniform{}, Time{.table = "time", .comparison = comparison, .monotonic = true});
    check(timed, Uniform{}, Time{.table = "time", .strategy = Strategy::kLast, .window = 60});
  }
}

}  // namespace ramet::test
