// The rows that are read most, against counts made edge by edge and batch by batch.
#include "loader/rows/cached_nodes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "ramet/error.h"
#include "support/errors.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/store_fixture.h"
#include "support/streams.h"

using namespace ramet;

namespace {

// Ids in order of falling score, lower ids first, the first `count` of them sorted.
std::vector<int64_t> best(const std::vector<std::pair<int64_t, int64_t>>& score, size_t count) {
  std::vector<int64_t> ids(score.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](int64_t a, int64_t b) {
    return score[static_cast<size_t>(a)] > score[static_cast<size_t>(b)];
  });
  ids.resize(std::min(count, ids.size()));
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

TEST_CASE("rows by degree are those with most out-edges") {
  const auto graph = test::make_graph(200, 1500, 3);
  std::vector<std::pair<int64_t, int64_t>> score;
  for (const int64_t degree : test::out_degrees(*graph))
    score.emplace_back(degree, 0);
  for (const int64_t count : {0, 1, 50, 199, 200, 1000})
    CHECK(hottest_nodes(uses_by_degree(*graph, 0), count) ==
          best(score, static_cast<size_t>(count)));
}

TEST_CASE("rows by presampling are those in most batches, then with most out-edges") {
  const auto graph = test::make_graph(300, 2000, 4);
  LoaderOptions options;
  options.sample = {{{3, 2}}, Uniform{}, 7};
  options.batch_size = 16;
  options.shuffle = true;
  options.threads = 1;
  const NeighborLoader loader(graph, options);
  std::vector<std::pair<int64_t, int64_t>> score;
  for (const int64_t degree : test::out_degrees(*graph))
    score.emplace_back(0, degree);
  const auto stream = loader.start(0);
  for (int step = 0; step < 5; ++step) {
    const auto batch = stream->next(test::kPatience);
    REQUIRE(batch);
    for (const int64_t node : batch->minibatch.n_id[0].as<int64_t>())
      ++score[static_cast<size_t>(node)].first;
  }
  const auto seeds = [&](int64_t step) { return SeedList{{{0, loader.seeds(0, step)}}}; };
  const NodeUses uses = uses_by_presampling(graph, options, seeds, 5, 0);
  CHECK(hottest_nodes(uses, 40) == best(score, 40));
  options.cooperative.presampled = {borrow(uses.counts)};
  const SeedsOfStep none;  // they were sampled by others
  const NodeUses given = count_uses(graph, options, none, 5, 0, CacheBy::kPresampling);
  CHECK(hottest_nodes(given, 40) == best(score, 40));
}

// docs/caches.md, "Policies": a node counts once in each batch that it is in.
TEST_CASE("presampling counts batches, also of nodes that a batch has several times") {
  const auto graph = test::make_graph(60, 400, 4);
  LoaderOptions options;
  options.sample = {{{3, 2}}, Uniform{}, 7};
  const std::vector<int64_t> twice{5, 9, 5, 5, 9, 30};
  const auto seeds = [&](int64_t) { return SeedList{{{0, twice}}}; };
  for (const bool disjoint : {false, true}) {
    options.sample.disjoint = disjoint;
    std::vector<int64_t> expected(60);
    NeighborSampler sampler(graph, options.sample);
    for (uint64_t step = 0; step < 4; ++step) {
      const SeedList of_step = seeds(0);
      const Minibatch batch = sampler.sample(of_step.view(), 0, step);
      const auto nodes = batch.n_id[0].as<int64_t>();
      for (const int64_t node : std::set<int64_t>(nodes.begin(), nodes.end()))
        ++expected[static_cast<size_t>(node)];
    }
    CHECK(expected[5] == 4);
    CHECK(uses_by_presampling(graph, options, seeds, 4, 0).counts == expected);
  }
}

TEST_CASE("of some nodes those are held that are used most") {
  const NodeUses uses{{3, 9, 1, 9, 0, 3}, {0, 1, 0, 2, 0, 5}};
  const std::vector<int64_t> nodes{0, 1, 2, 4, 5};
  const Array among = borrow(nodes);
  using Ids = std::vector<int64_t>;
  CHECK(hottest_nodes(uses, 1, among) == Ids{1});
  CHECK(hottest_nodes(uses, 2, among) == Ids{1, 5});
  CHECK(hottest_nodes({uses.counts}, 2, among) == Ids{0, 1});
  CHECK(hottest_nodes(uses, 100, among) == nodes);
  CHECK(hottest_nodes(uses, 100, borrow(std::span<const int64_t>())).empty());
}

TEST_CASE("a cache is for the nodes whose rows a rank reads: its own, or those of other machines") {
  const auto graph = test::make_graph(300, 1500, 3);
  const Ownership owners = Ownership::hashed("node", 300, 3);
  const auto ids_of = [](const std::optional<Array>& nodes) { return test::numbers(*nodes); };
  std::vector<int64_t> own, remote;
  for (int64_t node = 0; node < 300; ++node) {
    if (owners.owner(node) == 1) own.push_back(node);
    if (owners.owner(node) != 2) remote.push_back(node);
  }
  const TableRequest feat{.name = "feat"};
  CHECK_FALSE(nodes_behind_cache(*graph, feat, {}));
  CHECK(ids_of(nodes_behind_cache(*graph, feat, Membership{{owners}, 1})) == own);
  Array map = BufferPool::create()->allocate_array(map_dtype(owners, 512), {300});
  write_map(owners, 512, map);
  const PulledTable rows{
      Table(map), RowPositions::strided(owners, 512, map), {false, false, true}, 2};
  const TableRequest pulled{.name = "pulled", .rows = rows};
  CHECK(ids_of(nodes_behind_cache(*graph, pulled, {})) == remote);
}

TEST_CASE("presampled nodes that do not fit are refused") {
  const auto graph = test::make_graph(50, 100, 3);
  LoaderOptions options;
  options.sample = {{{3}}};
  options.host = {.cache_rows = 5, .cache_by = CacheBy::kPresampling};
  const auto refuses = [&](const std::string& word) {
    test::check_throws(ErrorCode::kInvalidArgument, {word},
                       [&] { const NeighborLoader loader(graph, options); });
  };
  options.cooperative.membership = Membership{{Ownership::hashed("node", 50, 2)}, 1};
  refuses("ranks that cooperate sample together");
  const std::vector<int64_t> few(49);
  options.cooperative.presampled = {borrow(few)};
  refuses("presampled nodes of type 'node' are int64[49], expected int64[50]");
  options.cooperative.presampled.push_back(options.cooperative.presampled.front());
  refuses("presampled nodes of 2 types, expected 1");
}

// Of ranks that cooperate (docs/cooperative.md, "Caches").
TEST_CASE("owners that are not those of the graph's nodes are refused before a cache is filled") {
  const auto graph = test::make_graph(50, 100, 3);
  const auto refuses = [&](const Membership& membership, const std::string& word) {
    for (const CacheBy by : {CacheBy::kDegree, CacheBy::kRecency}) {
      LoaderOptions options;
      options.sample = {{{3}}};
      options.host = {.cache_rows = 5, .cache_by = by};
      options.cooperative.membership = membership;
      test::check_throws(ErrorCode::kInvalidArgument, {word},
                         [&] { const NeighborLoader loader(graph, options); });
    }
  };
  refuses({}, "ownership of 0 node types, but there are 1");
  refuses({{Ownership::hashed("node", 1000, 2)}, 0},
          "ownership of 1000 nodes, but node type 'node' has 50");
  refuses({{Ownership::hashed("node", 50, 2)}, 2}, "rank is 2, expected 0 to 1");
}

TEST_CASE("uses by row are out-edges") {
  const auto graph = test::make_graph(200, 1500, 3);
  CHECK(uses_by_row(*graph, {.name = "feat"}, 200) == test::out_degrees(*graph));
}
