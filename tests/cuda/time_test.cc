// Disjoint trees, and the times of their seeds, against the host's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cuda/sampling_fixture.h"
#include "cuda/timed_graph.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "support/errors.h"

namespace ramet::test {
namespace {

const std::vector<int64_t> kTimes{50, 50, 20, 60, 99, 3, 70, kLatest, kEarliest, 40};

// Seeds that have times of their own. No `time`: any allows all.
void check_in_time(const std::shared_ptr<const Graph>& graph,
                   const Method& method,
                   const std::optional<Time>& time,
                   std::vector<int64_t> fanouts,
                   int64_t dependent = 1,
                   const std::vector<int64_t>& without = {}) {
  const SampleOptions options{{std::move(fanouts)}, method, 4,   dependent,
                              Expand::kEvery,       true,   time};
  NeighborSampler host(graph, options);
  const Seeds seeds[] = {{0, kSeeds, std::span(kTimes).first(time ? kTimes.size() : 0)}};
  const ExcludedEdges excluded[] = {{0, without}};
  for (const Reading& reading : kReadings) {
    CAPTURE(name(reading.order));
    DeviceSampler device(graph, options, reading.topology, reading.order);
    for (uint64_t step = 0; step < 2; ++step)
      require_same(host.sample(seeds, 0, step, nullptr, excluded),
                   to_host(device.sample(seeds, 0, step, nullptr, excluded)));
  }
}

const Weighted kWeighted{.table = "w"}, kRepeated{.table = "w", .replace = true};
const Labor kWeightedLabor{.iterations = 1, .table = "w"};

TEST_CASE("disjoint trees are the host's") {
  const auto graph = timed_graph(true, Rows::kUnsorted);
  const auto check = [&](const Method& method, std::vector<int64_t> fanouts) {
    SampleOptions options{{std::move(fanouts)}, method, 4};
    options.disjoint = true;
    check_against_host(graph, options, kSeeds);
  };
  check(Uniform{}, {4, 0, 3});
  check(Uniform{}, {-1, 2});
  check(Uniform{.replace = true}, {4, 3});
  check(Labor{}, {4, 3});
  check(Labor{.iterations = 2}, {4, 3});
  check(kWeighted, {4, 3});
  check(kRepeated, {4, 3});
  SampleOptions typed{std::vector<std::vector<int64_t>>(5, {4, 3}), Uniform{}, 5};
  typed.disjoint = true;
  check_against_host(typed_graph(22), typed, {8, 1, 8, 3}, 1);
}

TEST_CASE("what times leave of rows is the host's") {
  for (const bool of_edges : {true, false}) {
    for (const Rows rows : {Rows::kSorted, Rows::kUnsorted}) {
      CAPTURE(of_edges);
      CAPTURE(static_cast<int>(rows));
      const auto graph = timed_graph(of_edges, rows);
      const Time time{.table = "time"};
      check_in_time(graph, Uniform{}, time, {4, 3});
      check_in_time(graph, Uniform{}, time, {-1, 40});
      check_in_time(graph, Uniform{.replace = true}, time, {4, 3});
      check_in_time(graph, Uniform{}, time, {4, 3}, 4);
      check_in_time(graph, Labor{.weights = Weights::kHorvitzThompson}, time, {4, 3});
      check_in_time(graph, Labor{.iterations = 1}, time, {4, 3});
      check_in_time(graph, kWeightedLabor, time, {4, 3});
      check_in_time(graph, kWeighted, time, {4, 3});
      check_in_time(graph, kRepeated, time, {4, 3});
    }
  }
}

// docs/semantics.md, section 24.
TEST_CASE("edges that are excluded are out of their rows, as the host's") {
  for (const Rows rows : {Rows::kSorted, Rows::kUnsorted}) {
    CAPTURE(static_cast<int>(rows));
    const auto graph = timed_graph(true, rows);
    const auto indptr = graph->edge_types()[0].indptr.as<int64_t>();
    std::vector<int64_t> without;  // some whole rows, and the ends of all others
    for (size_t v = 0; v + 1 < indptr.size(); ++v)
      for (int64_t p = indptr[v]; p < indptr[v + 1]; ++p)
        if (v % 5 == 1 || p % 4 == 0 || p == indptr[v] || p + 1 == indptr[v + 1])
          without.push_back(p);
    const Time in_time{.table = "time"}, last{.table = "time", .strategy = Strategy::kLast};
    for (const std::optional<Time>& time : {std::optional<Time>(), std::optional(in_time)}) {
      CAPTURE(time.has_value());
      check_in_time(graph, Uniform{}, time, {4, 3}, 1, without);
      check_in_time(graph, Uniform{}, time, {-1, 40}, 1, without);
      check_in_time(graph, Uniform{.replace = true}, time, {4, 3}, 1, without);
      check_in_time(graph, Uniform{}, time, {4, 3}, 4, without);
      check_in_time(graph, Labor{}, time, {4, 3}, 1, without);
      check_in_time(graph, Labor{.iterations = 1}, time, {4, 3}, 1, without);
      check_in_time(graph, kWeightedLabor, time, {4, 3}, 1, without);
      check_in_time(graph, kWeighted, time, {4, 3}, 1, without);
      check_in_time(graph, kRepeated, time, {4, 3}, 1, without);
    }
    check_in_time(graph, Uniform{}, last, {4, 3}, 1, without);
  }
}

TEST_CASE("the latest neighbors, windows, comparisons and paths in order are the host's") {
  for (const bool of_edges : {true, false}) {
    for (const Rows rows : {Rows::kSorted, Rows::kUnsorted}) {
      CAPTURE(of_edges);
      CAPTURE(static_cast<int>(rows));
      const auto graph = timed_graph(of_edges, rows);
      const Time last{.table = "time", .strategy = Strategy::kLast};
      check_in_time(graph, Uniform{}, last, {4, 3});
      check_in_time(graph, Uniform{}, last, {-1, 60}, 2);
      for (const Comparison comparison :
           {Comparison::kBefore, Comparison::kAtLeast, Comparison::kAfter})
        check_in_time(graph, Uniform{},
                      Time{.table = "time", .window = 20, .comparison = comparison}, {4, 3});
      for (const Comparison comparison :
           {Comparison::kAtMost, Comparison::kBefore, Comparison::kAtLeast, Comparison::kAfter})
        check_in_time(graph, Uniform{},
                      Time{.table = "time", .comparison = comparison, .monotonic = true},
                      {4, 3, 3});
    }
  }
}

// Authors alone have times; an edge from elsewhere passes on what its destination allows.
TEST_CASE("paths of several types in the order of times are the host's") {
  const auto graph = typed_graph(22);
  const SampleOptions options{
      std::vector<std::vector<int64_t>>(5, {4, 3, 3}), Uniform{}, 5, 1, Expand::kEvery, true,
      Time{.table = "time", .monotonic = true}};
  const std::vector<int64_t> papers{8, 1, 8, 3, 9, 20}, times{50, 3, 90, 70, 20, 60};
  const Seeds seeds{1, papers, times};
  DeviceSampler device(graph, options);
  require_same(NeighborSampler(graph, options).sample(seeds, 0, 0),
               to_host(device.sample(seeds, 0, 0)));
}

std::string refusal_of(auto& sampler, const Seeds& seeds) {
  try {
    (void)sampler.sample(seeds, 0, 0);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("rows that are not in the order that their store says are corrupt") {
  for (const bool of_edges : {true, false}) {
    const auto graph = timed_graph(of_edges, Rows::kFalselySorted);
    const SampleOptions options{
        {{-1}}, Uniform{}, 4, 1, Expand::kEvery, true, Time{.table = "time"}};
    NeighborSampler host(graph, options);
    DeviceSampler device(graph, options);
    const Seeds seeds{0, kSeeds, kTimes};
    CHECK(contains(refusal_of(host, seeds), "is out of order: ramet.txt says"));
    CHECK(contains(refusal_of(device, seeds), "is out of order: ramet.txt says"));
  }
}

TEST_CASE("sources that are no nodes are named where times are theirs, and weights where allowed") {
  const std::vector<int64_t> indptr{0, 4, 4, 4}, times{3, 1, 2};
  const std::vector<float> weights{1, -5, 2, -7};  // the second is of an edge that is not allowed
  for (const int32_t third : {1, 9}) {
    const std::vector<int32_t> indices{1, 0, third, 1};
    StoreContents contents = one_type({borrow(indptr), borrow(indices), {}}, 3);
    contents.arrays.emplace_back("node/node/time", borrow(times));
    contents.arrays.emplace_back("edge/node__to__node/w", borrow(weights));
    const auto graph = graph_of(contents);
    const SampleOptions options{
        {{2}}, kWeighted, 4, 1, Expand::kEvery, true, Time{.table = "time"}};
    NeighborSampler host(graph, options);
    DeviceSampler device(graph, options);
    const std::vector<int64_t> ids{2, 0}, now{2, 2};
    const std::string expected = refusal_of(host, {0, ids, now});
    CHECK(contains(expected, third == 9 ? "indices, entry 2: 9" : "row 3 of table 'w'"));
    CHECK(refusal_of(device, {0, ids, now}) == expected);
  }
}

TEST_CASE("hubs whose picks times leave") {
  const auto graph = timed_graph(false, Rows::kUnsorted);
  check_in_time(graph, Uniform{}, Time{.table = "time", .strategy = Strategy::kLast}, {1500});
  check_in_time(graph, Uniform{}, Time{.table = "time"}, {1500});
}

}  // namespace
}  // namespace ramet::test
