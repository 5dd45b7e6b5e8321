#include "ramet/sampler.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <vector>

#include "ramet/error.h"
#include "ramet/fingerprint.h"
#include "ramet/random.h"
#include "sampling/rows.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/slices.h"
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

TEST_CASE("edge ids and edge_index describe the same edges") {
  const test::EdgeList edges = test::random_edges(100, 100, 900, 5);
  const auto graph = test::make_graph(edges, 100);
  NeighborSampler sampler(graph, {{{3}}, Uniform{}, 0});
  const Minibatch batch = sampler.sample({0, std::vector<int64_t>{1, 2, 3}}, 0, 0);
  const Relation& relation = batch.blocks[0].relations[0];
  const auto ids = test::numbers(edge_ids(*graph, relation)),
             index = test::numbers(edge_index(relation));
  const auto n_id = test::numbers(batch.n_id[0]);
  for (size_t e = 0; e < ids.size(); ++e) {
    CHECK(edges.src[static_cast<size_t>(ids[e])] == n_id[static_cast<size_t>(index[e])]);
    CHECK(edges.dst[static_cast<size_t>(ids[e])] ==
          n_id[static_cast<size_t>(index[e + ids.size()])]);
  }
}

// docs/semantics.md, sections 1 and 7.
TEST_CASE("the fingerprint of the union of slices is that of the whole batch") {
  const auto graph = test::make_graph(2000, 30'000, 6);
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < 64; ++i)
    seeds.push_back(i * 31 % 2000);
  for (const Method& method :
       {Method(Uniform{}), Method(Labor{}), Method(Labor{.layer_dependent = true})}) {
    const SampleOptions options{{{5, 4, 3}}, method, 8};
    test::check_slices_add_up(graph, options, seeds);
    NeighborSampler sampler(graph, options);
    const auto of_step = [&](uint64_t step) {
      return test::fingerprint_of(*graph, sampler.sample({0, seeds}, 1, step));
    };
    CHECK(of_step(2) != of_step(3));
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
  std::set<uint64_t> digests;
  for (const SampleOptions& options : all)
    digests.insert(digest(options));
  CHECK(digests.size() == all.size());
  CHECK(digest(all.front()) == digest({{{3, 2}, {1, 1}}, Uniform{}, 1, 1}));
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

namespace {

// `num_dst` items, each with 20 in-edges from a type of `num_src` users, whose ids take `Index`.
template <typename Index>
std::shared_ptr<const Graph> make_bipartite(int64_t num_src, int64_t num_dst) {
  std::vector<int64_t> indptr{0};
  std::vector<Index> indices;
  for (int64_t v = 0; v < num_dst; ++v) {
    for (int64_t e = 0; e < 20; ++e) {
      const uint64_t k = absorb(static_cast<uint64_t>(v), static_cast<uint64_t>(e));
      indices.push_back(static_cast<Index>(uniform_below(k, static_cast<uint64_t>(num_src))));
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  StoreContents contents;
  contents.node_counts = {{"item", num_dst}, {"user", num_src}};
  contents.arrays = {{"edge/user__likes__item/indptr", borrow(indptr)},
                     {"edge/user__likes__item/indices", borrow(indices)}};
  return test::graph_of(contents);
}

// Every picked id must stand at its position in the graph, and be where the local id points.
void check_ids(const Graph& graph, const Minibatch& batch) {
  const EdgeType& edges = graph.edge_types().front();
  const Relation& relation = batch.blocks.front().relations.front();
  const auto users = test::numbers(batch.n_id[static_cast<size_t>(edges.src)]);
  const auto local = test::numbers(relation.indices), position = test::numbers(relation.position);
  const auto stored = test::numbers(edges.indices);
  REQUIRE(local.size() == position.size());
  for (size_t e = 0; e < local.size(); ++e) {
    REQUIRE(users[static_cast<size_t>(local[e])] == stored[static_cast<size_t>(position[e])]);
  }
  std::vector<int64_t> distinct = users;
  std::sort(distinct.begin(), distinct.end());
  CHECK(std::adjacent_find(distinct.begin(), distinct.end()) == distinct.end());
}

}  // namespace

TEST_CASE("ids above 100 million, and above 2^31, are sampled without a table of their number") {
  std::vector<int64_t> seeds(700);
  std::iota(seeds.begin(), seeds.end(), 0);
  const auto check_with = [&](const auto& graph) {
    for (const int threads : {1, 2}) {
      NeighborSampler sampler(graph, {{{7}}, Uniform{}, 3}, nullptr, threads);
      for (uint64_t step = 0; step < 3; ++step) {
        const Minibatch batch = sampler.sample({0, seeds}, 0, step);
        CHECK(batch.blocks.front().relations.front().position.rows() == 7 * 700);
        check_ids(*graph, batch);
      }
    }
  };
  check_with(make_bipartite<int32_t>(150'000'000, 1000));
  check_with(make_bipartite<int64_t>(5'000'000'000, 1000));
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
