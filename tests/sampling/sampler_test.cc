#include "ramet/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <vector>

#include "ramet/error.h"
#include "ramet/random.h"
#include "sampling/rows.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/store_fixture.h"
#include "support/values.h"

using namespace ramet;

namespace {

const Method kMethods[] = {Uniform{}, Uniform{.replace = true},       Labor{},
                           Labor{1},  Labor{.layer_dependent = true}, Labor{3}};

void check_equal(const Minibatch& a, const Minibatch& b) {
  REQUIRE(a.n_id.size() == b.n_id.size());
  for (size_t t = 0; t < a.n_id.size(); ++t)
    REQUIRE(test::numbers(a.n_id[t]) == test::numbers(b.n_id[t]));
  REQUIRE(a.blocks.size() == b.blocks.size());
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    REQUIRE(a.blocks[i].num_src == b.blocks[i].num_src);
    REQUIRE(a.blocks[i].num_dst == b.blocks[i].num_dst);
    for (size_t r = 0; r < a.blocks[i].relations.size(); ++r) {
      const Relation &x = a.blocks[i].relations[r], &y = b.blocks[i].relations[r];
      REQUIRE(test::numbers(x.indptr) == test::numbers(y.indptr));
      REQUIRE(test::numbers(x.indices) == test::numbers(y.indices));
      REQUIRE(test::numbers(x.position) == test::numbers(y.position));
      REQUIRE(test::bytes_of(edge_weights(x)) == test::bytes_of(edge_weights(y)));
    }
  }
}

uint64_t absorb_batch(uint64_t key, const Minibatch& batch) {
  const auto take = [&key](const Array& array) {
    key = absorb(key, hash_name(test::bytes_of(array)));
  };
  for (const Array& ids : batch.n_id)
    take(ids);
  for (const Block& block : batch.blocks) {
    for (const Relation& edges : block.relations)
      for (const Array& array : {edges.indptr, edges.indices, edges.position, edge_weights(edges)})
        take(array);
  }
  return key;
}

}  // namespace

TEST_CASE("batches are the same bits with every processor and compiler") {
  StoreContents contents =
      test::one_type(test::csc_of(test::random_edges(2000, 2000, 60'000, 6), 2000, 2000), 2000);
  std::vector<float> weights = test::drawn_values(60'000, 7);
  for (float& weight : weights)
    weight = std::max(weight, 0.0F);
  contents.arrays.emplace_back("edge/node__to__node/weight", borrow(weights));
  const auto graph = test::graph_of(contents);
  std::vector<Method> methods(std::begin(kMethods), std::end(kMethods));
  methods.insert(methods.end(),
                 {Weighted{"weight"}, Weighted{"weight", true}, Labor{.table = "weight"}});
  uint64_t bits = 0;
  for (const Method& method : methods) {
    for (const int64_t kappa : {1, 8}) {
      const SampleOptions options{{{20, 5}}, method, 3, kappa};
      const Minibatch batch =
          NeighborSampler(graph, options).sample({0, test::drawn_ids(300, 2000)}, 1, 2);
      bits = absorb_batch(bits, batch);
    }
  }
  CHECK(bits == 2811196951566851305U);
}

TEST_CASE("edges that memory does not hold are read ahead for any fanout") {
  const std::vector<int64_t> ids(4);
  const std::vector<Row> rows{{0, 4}, {4, 0}};
  EdgeType edges;
  edges.indices = borrow(ids);
  edges.read_by_row = true;
  for (const int64_t fanout : {kAllNeighbors, int64_t{1}, INT64_MAX})
    CHECK_NOTHROW(read_ahead_rows(edges, rows, fanout));  // nor overflows, as sanitizers see
}

// Against their twin batches are tested by tests/python/sampling.
TEST_CASE("small batches are the same for any number of threads, and leave no trace in scratch") {
  const auto graph = test::make_graph(300, 4000, 11);
  const std::vector<int64_t> seeds{5, 7, 5, 299, 0, 100};
  for (const bool replace : {false, true}) {
    const SampleOptions options{{{4, 0, 40, 3}}, Uniform{replace}, 77};
    const Minibatch expected = NeighborSampler(graph, options).sample({0, seeds}, 2, 9);
    for (const int threads : {1, 2, 8}) {
      NeighborSampler sampler(graph, options, nullptr, threads);
      check_equal(sampler.sample({0, seeds}, 2, 9), expected);
      check_equal(sampler.sample({0, seeds}, 2, 9), expected);
    }
  }
}

TEST_CASE("large batches are the same for 1, 2 and 8 threads, and leave no trace in scratch") {
  const auto graph = test::make_graph(20'000, 400'000, 12);
  std::vector<int64_t> seeds(9000);
  std::iota(seeds.begin(), seeds.end(), 0);
  for (const Method& method : kMethods) {
    const SampleOptions options{{{10, 5}}, method, 1};
    NeighborSampler one(graph, options, nullptr, 1);
    const Minibatch expected = one.sample({0, seeds}, 0, 0);
    static_cast<void>(one.sample({0, std::vector<int64_t>{3, 4}}, 0, 1));
    check_equal(one.sample({0, seeds}, 0, 0), expected);
    for (const int threads : {2, 8})
      check_equal(NeighborSampler(graph, options, nullptr, threads).sample({0, seeds}, 0, 0),
                  expected);
  }
}

TEST_CASE("bad options and seeds are named, and the sampler stays usable") {
  const auto graph = test::make_graph(10, 30, 1);
  const auto make = [&](SampleOptions options) {
    NeighborSampler sampler(graph, std::move(options));
  };
  CHECK_THROWS_WITH_AS(
      make({{{3, -2}}}),
      "num_neighbors[1] of edge type 'node__to__node' is -2, expected -1 (all), 0 (none) or more",
      Error);
  CHECK_NOTHROW(make({{std::vector<int64_t>(256, 1)}}));
  CHECK_THROWS_WITH_AS(make({{std::vector<int64_t>(257, 1)}}),
                       "num_neighbors has 257 hops, expected at most 256", Error);
  CHECK_THROWS_WITH_AS(make({.fanouts = {{1}}, .dependent = 0}),
                       doctest::Contains("dependent is 0, expected at least 1"), Error);
  CHECK_THROWS_AS(make({{{1}, {1}}}), Error);
  NeighborSampler sampler(graph, {{{2}}});
  CHECK_THROWS_WITH_AS(sampler.sample({0, std::vector<int64_t>{0, 10}}, 0, 0),
                       "seeds[1] = 10 is outside [0, 10) of node type 'node'", Error);
  CHECK(sampler.sample({0, std::vector<int64_t>{0, 9}}, 0, 0).num_seeds == 2);
  NeighborSampler greedy(graph, {{{int64_t{1} << 62}}, Uniform{.replace = true}});
  CHECK_THROWS_AS(greedy.sample({0, std::vector<int64_t>{0, 1, 2, 3, 4, 5}}, 0, 0), Error);
}

TEST_CASE("the digest covers every option") {
  std::vector<SampleOptions> all(1, {{{3, 2}, {1, 1}}, Uniform{}, 1, 1});
  const auto changed = [&](const auto& change) { change(all.emplace_back(all.front())); };
  changed([](SampleOptions& o) { o.fanouts[1][0] = 2; });
  changed([](SampleOptions& o) { o.fanouts = {{3, 2, 1, 1}}; });
  changed([](SampleOptions& o) { o.seed = 2; });
  changed([](SampleOptions& o) { o.dependent = 2; });
  changed([](SampleOptions& o) { o.method = Uniform{.replace = true}; });
  changed([](SampleOptions& o) { o.method = Weighted{}; });
  changed([](SampleOptions& o) { o.method = Weighted{.table = "w"}; });
  changed([](SampleOptions& o) { o.method = Weighted{"", true}; });
  changed([](SampleOptions& o) { o.method = Labor{}; });
  changed([](SampleOptions& o) { o.method = Labor{.iterations = 1}; });
  changed([](SampleOptions& o) { o.method = Labor{.layer_dependent = true}; });
  changed([](SampleOptions& o) { o.method = Labor{.weights = Weights::kHorvitzThompson}; });
  changed([](SampleOptions& o) { o.method = Labor{.table = "w"}; });
  changed([](SampleOptions& o) { o.method = Budget{}; });
  changed([](SampleOptions& o) { o.method = Budget{2}; });
  changed([](SampleOptions& o) { o.expand = Expand::kOnce; });
  changed([](SampleOptions& o) { o.disjoint = true; });
  changed([](SampleOptions& o) { o.time = Time{.table = "t"}; });
  changed([](SampleOptions& o) { o.time = Time{.table = "u"}; });
  changed([](SampleOptions& o) { o.time = Time{.table = "t", .strategy = Strategy::kLast}; });
  changed([](SampleOptions& o) { o.time = Time{.table = "t", .window = 5}; });
  changed([](SampleOptions& o) { o.time = Time{.table = "t", .comparison = Comparison::kBefore}; });
  changed([](SampleOptions& o) { o.time = Time{.table = "t", .monotonic = true}; });
  std::set<uint64_t> digests;
  for (const SampleOptions& options : all)
    digests.insert(digest(options));
  CHECK(digests.size() == all.size());
  CHECK(digest({{{5, 3}}, Uniform{}, 7}) == 0x8a4ba3583d6f908U);  // as in any version
}

// docs/format.md, section 4, second row: what opening did not look at is checked where it is read.
TEST_CASE("rows and ids that do not fit are errors, and the sampler goes on with those that do") {
  const std::vector<int64_t> all{0, 1, 2}, good{2};
  for (const Method& method : kMethods) {
    const auto sample_from = [&](const std::vector<int64_t>& indptr,
                                 const std::vector<int32_t>& indices, const std::string& message) {
      const auto graph = test::graph_of(test::one_type({borrow(indptr), borrow(indices), {}}, 3));
      const SampleOptions options{{{-1}}, method};
      NeighborSampler sampler(graph, options);
      CHECK_THROWS_WITH_AS(sampler.sample({0, all}, 0, 0),
                           ("segment:edge/node__to__node/" + message).c_str(), Error);
      CHECK_NOTHROW(NeighborSampler(graph, {{{0}}, method}).sample({0, all}, 0, 0));  // reads none
      check_equal(sampler.sample({0, good}, 0, 0),
                  NeighborSampler(graph, options).sample({0, good}, 0, 0));
    };
    sample_from({0, 9, 2, 3}, {0, 1, 2}, "indptr, entry 1: 9 is outside [0, 3]");
    sample_from({0, 2, 1, 3}, {0, 1, 2},
                "indptr, entry 1: 2 is outside [0, 1], the end of the row");
    sample_from({0, 1, 2, 3}, {0, 3, 2}, "indices, entry 1: 3 is outside [0, 3)");
    sample_from({0, 1, 2, 3}, {0, -5, 2}, "indices, entry 1: -5 is outside [0, 3)");
  }
}

TEST_CASE("the table for relabeling cannot be seen in the result") {
  const auto [hashed, direct] = test::graphs_by_table(150'000);
  const std::vector<int64_t> seeds{3, 1, 4, 1, 5, 9, 2, 6};
  for (const Method& method : kMethods) {
    const SampleOptions options{{{20, 20, 20}}, method, 5};
    NeighborSampler one(hashed, options), other(direct, options);
    for (uint64_t step = 0; step < 3; ++step)
      check_equal(one.sample({0, seeds}, 0, step), other.sample({0, seeds}, 0, step));
  }
}

TEST_CASE("a node type that is none is an Error") {
  const auto graph = test::make_graph(100, 300, 3);
  NeighborSampler sampler(graph, {{{3}}, Uniform{}, 5});
  for (const int type : {-1, 1, INT32_MIN}) {
    test::check_throws(ErrorCode::kOutOfRange, {std::to_string(type), "[0, 1)"},
                       [&] { return sampler.sample({type, {}}, 0, 0); });
  }
  CHECK(sampler.sample({0, {}}, 0, 0).blocks.size() == 1);
  const std::vector<Seeds> twice{{0, {}}, {0, {}}};
  test::check_throws(ErrorCode::kInvalidArgument, {"node type 'node' twice"},
                     [&] { return sampler.sample(twice, 0, 0); });
  CHECK(sampler.sample(std::span<const Seeds>(), 0, 0).num_seeds == 0);
}

TEST_CASE("without hops a batch has its seeds alone, also where there are no edges") {
  StoreContents contents;
  contents.node_counts["node"] = 5;
  for (const auto& graph : {test::make_graph(5, 9, 1), Graph::from_store(make_segment(contents))}) {
    const SampleOptions options{
        std::vector<std::vector<int64_t>>(graph->edge_types().size(), std::vector<int64_t>{})};
    const std::vector<int64_t> seeds{4, 1, 4};
    const Minibatch batch = NeighborSampler(graph, options).sample({0, seeds}, 0, 0);
    CHECK(batch.blocks.empty());
    CHECK(num_sampled_nodes(batch, 0) == std::vector<int64_t>{3});
    CHECK(test::numbers(batch.n_id[0]) == seeds);
  }
}
