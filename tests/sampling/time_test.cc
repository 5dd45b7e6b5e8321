// What a time allows, and that nothing else is ever sampled, from any store and by any threads. The
// batches are compared with the twin by tests/python/sampling.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "ramet/csc.h"
#include "ramet/error.h"
#include "ramet/sampler.h"
#include "sampling/edge_times.h"
#include "sampling/rows_by_time.h"
#include "sampling/sorted_times.h"
#include "sampling/time_codes.h"
#include "support/errors.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/slow_build.h"

using namespace ramet;

namespace {

constexpr int64_t kTimedNodes = 6'000, kEdges = 60'000;
constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();

// Edges, or nodes, have times; rows are in no order of them, whatever the store `says`.
std::shared_ptr<const Graph> make_graph(bool of_edges, bool says_sorted, int64_t below = 100) {
  const auto edges = test::random_edges(kTimedNodes, kTimedNodes, kEdges, 3);
  StoreContents contents =
      test::one_type(test::csc_of(edges, kTimedNodes, kTimedNodes), kTimedNodes);
  const std::vector<int64_t> times = test::drawn_ids(of_edges ? kEdges : kTimedNodes, below, 5);
  const std::string array = of_edges ? "edge/node__to__node/time" : "node/node/time";
  contents.arrays.emplace_back(array, borrow(times));
  if (says_sorted) contents.sorted_rows["node__to__node"] = array;
  return test::graph_of(contents);
}

// Rows that are long, short and empty, one of a third of the edges, each in the order of its times,
// of which many are equal, and some extreme.
std::shared_ptr<const Graph> make_sorted_graph(bool of_edges, bool says_sorted) {
  auto edges = test::random_edges(kTimedNodes, kTimedNodes, kEdges, 3);
  for (size_t e = 0; e < edges.dst.size(); ++e)
    edges.dst[e] = e % 3 == 0 ? 0 : e % 4 == 0 ? edges.dst[e] % 30 : edges.dst[e] & ~int64_t{1};
  const Csc csc = test::csc_of(edges, kTimedNodes, kTimedNodes, {.edge_ids = false});
  std::vector<int64_t> times = test::drawn_ids(of_edges ? kEdges : kTimedNodes, 100, 5);
  for (size_t i = 0; i < times.size(); i += 10)
    times[i] = i % 20 == 0 ? kEarliest : kLatest;
  const auto indptr = csc.indptr.as<int64_t>();
  auto* const sources = static_cast<int32_t*>(csc.indices.data);
  for (size_t v = 0; v + 1 < indptr.size(); ++v) {
    if (of_edges) {
      std::sort(times.begin() + indptr[v], times.begin() + indptr[v + 1]);
    } else {
      std::sort(sources + indptr[v], sources + indptr[v + 1], [&](int32_t one, int32_t other) {
        return times[static_cast<size_t>(one)] < times[static_cast<size_t>(other)];
      });
    }
  }
  StoreContents contents = test::one_type(csc, kTimedNodes);
  const std::string array = of_edges ? "edge/node__to__node/time" : "node/node/time";
  contents.arrays.emplace_back(array, borrow(times));
  if (says_sorted) contents.sorted_rows["node__to__node"] = array;
  return test::graph_of(contents);
}

void require_same_edges(const Minibatch& one, const Minibatch& other) {
  REQUIRE(one.blocks.size() == other.blocks.size());
  for (size_t b = 0; b < one.blocks.size(); ++b) {
    const Relation &of_one = one.blocks[b].relations[0], &of_other = other.blocks[b].relations[0];
    REQUIRE(test::numbers(of_one.indptr) == test::numbers(of_other.indptr));
    REQUIRE(test::numbers(of_one.position) == test::numbers(of_other.position));
    REQUIRE(test::numbers(of_one.indices) == test::numbers(of_other.indices));
  }
}

int64_t time_of(const Graph& graph, int64_t position) {
  const EdgeType& edges = graph.edge_types()[0];
  const auto at = static_cast<size_t>(position);
  const auto own = edges.tables.find("time");
  if (own != edges.tables.end()) return own->second.as<int64_t>()[at];
  const auto source = static_cast<size_t>(edges.indices.as<int32_t>()[at]);
  return graph.node_types()[0].tables.at("time").as<int64_t>()[source];
}

// The number of edges, each of which the time of its tree allows.
int64_t count_allowed(const Graph& graph, const Minibatch& batch, const Time& rule) {
  const auto trees = batch.trees[0].as<int64_t>(), times = batch.seed_times.as<int64_t>();
  int64_t count = 0;
  for (const Block& block : batch.blocks) {
    const Relation& relation = block.relations[0];
    const Array index = edge_index(relation), position = positions(relation);
    const auto dst = index.as<int64_t>().subspan(static_cast<size_t>(position.rows()));
    for (size_t e = 0; e < dst.size(); ++e, ++count) {
      const auto tree = static_cast<size_t>(trees[static_cast<size_t>(dst[e])]);
      const int64_t time = time_of(graph, position.as<int64_t>()[e]);
      REQUIRE(allowed_times(rule, times[tree]).contains(time));
    }
  }
  return count;
}

}  // namespace

TEST_CASE("allowed times end or begin at the seed's, and do not wrap around") {
  const auto is = [](const Time& rule, int64_t now, int64_t first, int64_t last) {
    const TimeSpan span = allowed_times(rule, now);
    return span.first == first && span.last == last;
  };
  const Time before{.table = "t", .comparison = Comparison::kBefore};
  CHECK(is({.table = "t"}, 7, kEarliest, 7));
  CHECK(is(before, 7, kEarliest, 6));
  CHECK(is({.table = "t", .window = 0}, 7, 7, 7));
  CHECK(is({.table = "t", .window = kLatest}, -2, kEarliest, -2));
  CHECK(is({.table = "t", .window = 5}, kEarliest + 3, kEarliest, kEarliest + 3));
  CHECK(allowed_times(before, kEarliest).is_empty());
  const Time from{.table = "t", .comparison = Comparison::kAtLeast};
  const Time after{.table = "t", .window = 5, .comparison = Comparison::kAfter};
  CHECK(is(from, 7, 7, kLatest));
  CHECK(is(after, 7, 8, 12));
  CHECK(is(after, kLatest - 3, kLatest - 2, kLatest));
  CHECK(allowed_times(after, kLatest).is_empty());
  CHECK(allowed_times(before, kEarliest).common({kEarliest, 7}).is_empty());
}

TEST_CASE("seeds have one time each, or two in order") {
  const auto graph = make_graph(true, false);
  const std::vector<int64_t> ids{1, 2}, ends{3, 9, 5, 5}, swapped{3, 9, 6, 5}, three{1, 2, 3};
  SampleOptions options{.fanouts = {{4}}, .disjoint = true, .time = Time{.table = "time"}};
  NeighborSampler sampler(graph, options);
  const Minibatch batch = sampler.sample(Seeds{0, ids, ends}, 0, 0);
  CHECK(batch.seed_times.shape == std::vector<int64_t>{2, 2});
  const auto refused = [&](std::span<const int64_t> times, const char* why) {
    CHECK_THROWS_WITH_AS(sampler.sample(Seeds{0, ids, times}, 0, 0), doctest::Contains(why), Error);
  };
  refused(swapped, "input_time[1] is 6 to 5, expected the first time that is allowed");
  refused(three, "there are 3 times of 2 seeds, expected 1 for each");
  options.time->window = 3;
  NeighborSampler with_window(graph, options);
  CHECK_THROWS_WITH_AS(with_window.sample(Seeds{0, ids, ends}, 0, 0),
                       doctest::Contains("window is 3, but each seed was given"), Error);
}

TEST_CASE("nothing from the future, also from a store that says falsely that rows are sorted") {
  constexpr size_t kFutureSeeds = test::kSlowBuild ? 3'000 : 9'000;
  std::vector<int64_t> seeds(kFutureSeeds), times = test::drawn_ids(kFutureSeeds, 100, 9);
  std::iota(seeds.begin(), seeds.end(), 0);
  for (int64_t& seed : seeds)
    seed %= kTimedNodes;
  int64_t checked = 0, refused = 0;
  for (const bool of_edges : {false, true}) {
    for (const bool says_sorted : {false, true}) {
      const auto graph = make_graph(of_edges, says_sorted);
      for (const Strategy strategy : {Strategy::kUniform, Strategy::kLast}) {
        SampleOptions options{.fanouts = {{4, 2}}, .disjoint = true};
        options.time = Time{.table = "time", .strategy = strategy, .window = 60};
        NeighborSampler sampler(graph, options, nullptr, 3);
        const size_t step = says_sorted ? 1 : seeds.size();
        for (size_t first = 0; first < (says_sorted ? kFutureSeeds / 3 : kFutureSeeds);
             first += step) {
          const Seeds some{0, std::span(seeds).subspan(first, step),
                           std::span(times).subspan(first, step)};
          try {
            checked += count_allowed(*graph, sampler.sample(some, 0, 1), *options.time);
          } catch (const Error& error) {
            REQUIRE(error.code() == ErrorCode::kCorrupt);
            REQUIRE(says_sorted);
            REQUIRE(test::contains(error.what(), "is out of order: ramet.txt says that rows are"));
            ++refused;
          }
        }
      }
      if (says_sorted)
        CHECK_THROWS_WITH_AS(validate(*graph), doctest::Contains("that the rows are sorted by it"),
                             Error);
    }
  }
  CHECK(checked > std::ssize(seeds) * 11);
  CHECK(refused > std::ssize(seeds) / 90);
}

// docs/semantics.md, section 16: whether a store says that its rows are sorted decides about the
// work alone. More rows than one thread takes at a time.
TEST_CASE("sorted rows give the same edges by bisection as by reading all times") {
  std::vector<int64_t> seeds(5'000), times = test::drawn_ids(5'000, 100, 9), excluded;
  std::iota(seeds.begin(), seeds.end(), 0);
  for (size_t i = 0; i < times.size(); i += 50)
    times[i] = i % 100 == 0 ? kEarliest : kLatest;
  for (int64_t p = 0; p < kEdges; p += p % 7 + 1)
    excluded.push_back(p);
  const ExcludedEdges no_edges[] = {{0, excluded}};
  std::vector<Time> rules;
  for (const auto strategy : {Strategy::kUniform, Strategy::kLast}) {
    rules.push_back({.table = "time", .strategy = strategy});
    rules.push_back({.table = "time", .strategy = strategy, .window = 9});
    rules.push_back({.table = "time",
                     .strategy = strategy,
                     .comparison = Comparison::kAfter,
                     .monotonic = true});
  }
  const std::vector<std::vector<int64_t>> fanouts{{4, 2}, {30}, {kAllNeighbors, 3}};
  for (const bool of_edges : {false, true}) {
    const auto marked = make_sorted_graph(of_edges, true),
               plain = make_sorted_graph(of_edges, false);
    for (size_t r = 0; r < rules.size(); ++r) {
      SampleOptions options{.fanouts = {fanouts[r % 3]}, .disjoint = true, .time = rules[r]};
      if (rules[r].strategy == Strategy::kUniform) options.method = Uniform{r == 1};
      NeighborSampler by_bisection(marked, options, nullptr, 2), by_reading(plain, options);
      const Seeds some{0, seeds, times};
      for (const size_t count : {0U, 1U}) {
        const auto held_back = std::span(no_edges).first(count);
        require_same_edges(by_bisection.sample({&some, 1}, 0, 1, nullptr, held_back),
                           by_reading.sample({&some, 1}, 0, 1, nullptr, held_back));
      }
    }
  }
}

TEST_CASE("whether rows are sorted by time is found out by reading them") {
  const auto order_of = [](const std::shared_ptr<const Graph>& graph) {
    const auto times = edge_times(*graph, Time{.table = "time"});
    REQUIRE(times[0]->order != nullptr);
    return SortedTimes::make(*times[0], graph->edge_types()[0], 2);
  };
  const auto order = order_of(make_sorted_graph(true, true));
  REQUIRE(order != nullptr);
  CHECK(order->of_all == TimeSpan{kEarliest, kLatest});
  CHECK(order_of(make_graph(true, true)) == nullptr);
}

// Of many different times, codes leave some in doubt. docs/semantics.md, section 16.
TEST_CASE("codes of times give the same edges, once there are any") {
  constexpr int64_t kBelow = int64_t{1} << 60;
  std::vector<int64_t> seeds(kTimedNodes), times = test::drawn_ids(kTimedNodes, kBelow, 9);
  std::iota(seeds.begin(), seeds.end(), 0);
  for (const bool of_edges : {false, true}) {
    const auto graph = make_graph(of_edges, false, kBelow);
    for (const Strategy strategy : {Strategy::kUniform, Strategy::kLast}) {
      SampleOptions options{.fanouts = {{3}}, .disjoint = true};
      options.time = Time{.table = "time", .strategy = strategy, .window = kBelow / 3};
      NeighborSampler sampler(graph, options);
      (void)sampler.sample({0, seeds, times}, 0, 0);
      REQUIRE(graph->derived().bytes() == (strategy == Strategy::kUniform ? 2 : 2 + 4) * kEdges);
      for (size_t first = 0; first < seeds.size(); first += 1'000) {
        const auto fresh = Graph::from_store(graph->store());
        const Seeds some{0, std::span(seeds).subspan(first, 1'000),
                         std::span(times).subspan(first, 1'000)};
        require_same_edges(sampler.sample(some, 0, 1),
                           NeighborSampler(fresh, options).sample(some, 0, 1));
        REQUIRE(fresh->derived().bytes() == 0);
      }
    }
  }
}

// A row that is too long for codes, others that are not, more picks than are ranked, and edges that
// are left out. docs/semantics.md, section 16.
TEST_CASE("rows by time give the same edges, once there are any") {
  constexpr int64_t kMany = RowsByTime::kMostCoded + kEdges, kBelow = int64_t{1} << 60;
  auto edges = test::random_edges(kTimedNodes, kTimedNodes, kMany, 3);
  for (size_t e = 0; e < edges.dst.size(); ++e)
    edges.dst[e] = e % 9 < 5 ? 0 : edges.dst[e] % 300;
  StoreContents contents =
      test::one_type(test::csc_of(edges, kTimedNodes, kTimedNodes), kTimedNodes);
  const std::vector<int64_t> of_edges = test::drawn_ids(kMany, kBelow, 5);
  contents.arrays.emplace_back("edge/node__to__node/time", borrow(of_edges));
  const auto graph = test::graph_of(contents);
  const Array indptr = graph->edge_types()[0].indptr;
  REQUIRE(indptr.as<int64_t>()[1] > RowsByTime::kMostCoded);
  std::vector<int64_t> seeds(kTimedNodes), times = test::drawn_ids(kTimedNodes, kBelow, 9);
  std::iota(seeds.begin(), seeds.end(), 0);
  std::vector<int64_t> excluded;
  for (int64_t p = 0; p < kMany; p += p % 3 + 1)
    excluded.push_back(p);
  const ExcludedEdges no_edges[] = {{0, excluded}};
  for (const int64_t fanout : {int64_t{40}, kAllNeighbors}) {
    for (const int64_t window : {int64_t{-1}, kBelow / 3}) {
      SampleOptions options{.fanouts = {{fanout}}, .disjoint = true};
      options.time = Time{.table = "time", .strategy = Strategy::kLast, .window = window};
      NeighborSampler sampler(graph, options);
      (void)sampler.sample({0, seeds, times}, 0, 0);
      REQUIRE(graph->derived().bytes() >= 4 * kMany);  // rows by time
      const auto fresh = Graph::from_store(graph->store());
      const Seeds some{0, std::span(seeds).first(500), std::span(times).first(500)};
      for (const size_t count : {0U, 1U}) {
        const auto held_back = std::span(no_edges).first(count);
        require_same_edges(
            sampler.sample({&some, 1}, 0, 1, nullptr, held_back),
            NeighborSampler(fresh, options).sample({&some, 1}, 0, 1, nullptr, held_back));
      }
      REQUIRE(fresh->derived().bytes() == 0);
    }
  }
}

// Of one code are edges with different times, and a row is too long for codes. docs/semantics.md,
// section 16.
TEST_CASE("rows by time are in the order of (time, position)") {
  constexpr int64_t kLong = RowsByTime::kMostCoded + 5, kAll = kLong + 2'000;
  const std::vector<int64_t> indptr{0, 0, kLong, kAll, kAll}, times = test::drawn_ids(kAll, 900, 2);
  const std::vector<int32_t> indices(kAll);
  EdgeType edges;
  edges.indptr = borrow(indptr), edges.indices = borrow(indices);
  std::vector<int64_t> far(times);
  for (size_t i = 0; i < far.size(); i += 3)
    far[i] = kLatest - far[i];  // so that few codes are left for the others
  EdgeTimes given;
  for (const auto& of_row : {times, far}) {
    given.of_edges = of_row.data();
    const auto made = RowsByTime::make(given, edges, 4, 2);
    REQUIRE(made != nullptr);
    for (const Row row : {Row{0, kLong}, Row{kLong, kAll - kLong}}) {
      std::vector<std::pair<int64_t, int64_t>> expected;
      for (int64_t x = 0; x < row.degree; ++x)
        expected.emplace_back(of_row[static_cast<size_t>(row.begin + x)], x);
      std::sort(expected.begin(), expected.end());
      for (int64_t x = 0; x < row.degree; ++x)
        REQUIRE(made->number(row, row.begin + x) == expected[static_cast<size_t>(x)].second);
    }
  }
  given.of_edges = nullptr;
  CHECK(RowsByTime::make(given, edges, 0, 1) == nullptr);  // its sources are no nodes
}

// The spans of codes begin where codes change, whatever times there are. docs/semantics.md,
// section 16.
TEST_CASE("codes ascend with time, and say exactly which spans are cut") {
  std::vector<std::vector<int64_t>> sets{{}, {5}, {kEarliest, kEarliest}, {kLatest, kLatest, 3}};
  sets.push_back(test::drawn_ids(200'000, 50, 1));  // each of many edges
  sets.push_back(test::drawn_ids(200'000, int64_t{1} << 40, 2));
  sets.push_back(test::drawn_ids(1'000, 9'000, 3));
  sets.push_back(sets.back());
  sets.back().insert(sets.back().end(), {kEarliest, kEarliest, kLatest, kLatest});  // far away
  for (const std::vector<int64_t>& times : sets) {
    const TimeCodes codes(times);
    std::vector<int64_t> asked{kEarliest + 1, -1, 0, 1, kLatest - 1, kLatest};
    for (size_t i = 0; i < times.size(); i += times.size() / 500 + 1)
      asked.insert(asked.end(), {times[i], std::min(times[i], kLatest - 1) + 1});
    std::sort(asked.begin(), asked.end());
    uint16_t before = 0;
    for (const int64_t time : asked) {
      if (time == kEarliest) continue;
      const CodeSpan from = codes.of({time, kLatest}), up_to = codes.of({kEarliest, time - 1});
      REQUIRE(from.first >= before);
      REQUIRE(from.first == up_to.last + (from.cuts_first ? 0 : 1));
      REQUIRE(from.cuts_first == up_to.cuts_last);
      before = from.first;
    }
  }
}

TEST_CASE("rows are sorted stably, from arrays that fit each other") {
  const std::vector<int64_t> indptr{0, 4, 4, 6}, keys{3, 1, 3, 1, 9, kEarliest};
  const auto array = [](const std::vector<int64_t>& v) { return borrow(v); };
  const Array order = sorted_rows(array(indptr), array(keys));
  REQUIRE(order.dtype == DType::kInt32);
  const auto found = order.as<int32_t>();
  CHECK(std::vector<int32_t>(found.begin(), found.end()) == std::vector<int32_t>{1, 3, 0, 2, 5, 4});
  const std::vector<int64_t> falling{0, 5, 4, 6}, shorter{0, 4, 4, 5}, none;
  for (const auto& wrong : {falling, shorter, none})
    CHECK_THROWS_AS(sorted_rows(array(wrong), array(keys)), Error);
}
