// Edges that no hop draws: batches are those of the graph without these edges. Where words belong
// to an edge's number in its row, they are those of the graph in which these edges come too late.
// docs/semantics.md, section 24.
#include <doctest/doctest.h>

#include <algorithm>
#include <compare>
#include <map>
#include <numeric>
#include <vector>

#include "ramet/error.h"
#include "ramet/sampler.h"
#include "support/cooperative_fixture.h"
#include "support/errors.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/slow_build.h"
#include "support/store_fixture.h"

using namespace ramet;

namespace {

constexpr int64_t kEnds = 400, kLinks = 6'000;
constexpr int64_t kLate = 1'000;  // after every seed

// Sorted by destination, so that edge e stands at position e. Node 7 is a hub.
struct Links {
  test::EdgeList edges;
  std::vector<int64_t> times;     // rows are in their order
  std::vector<double> weights;    // some are 0
  std::vector<int64_t> excluded;  // positions
};

const Links& all_links() {
  static const Links links = [] {
    Links made;
    made.edges = test::random_edges(kEnds, kEnds, kLinks, 3);
    auto& destinations = made.edges.dst;
    std::fill_n(destinations.begin(), 1'000, 7);
    std::sort(destinations.begin(), destinations.end());
    for (size_t e = 0; e < kLinks; ++e) {
      const bool begins_row = e == 0 || destinations[e] != destinations[e - 1];
      made.times.push_back(begins_row ? 0 : made.times.back() + (e % 4 == 0 ? 3 : 0));
      made.weights.push_back(e % 5 == 0 ? 0 : 1 + static_cast<double>(e % 17));
      // Also whole rows, both ends of rows, and edges that stand side by side.
      const int64_t destination = destinations[e];
      if (destination % 50 == 1 || e % 11 == 0 || begins_row || (destination == 7 && e % 3 == 0))
        made.excluded.push_back(static_cast<int64_t>(e));
    }
    return made;
  }();
  return links;
}

bool is_excluded(size_t position) {
  const auto& excluded = all_links().excluded;
  return std::binary_search(excluded.begin(), excluded.end(), static_cast<int64_t>(position));
}

const ExcludedEdges* excluded_links() {
  static const ExcludedEdges excluded{0, all_links().excluded};
  return &excluded;
}

enum class Fate : uint8_t { kStay, kLeave, kComeLate };  // of the edges that are to be excluded

struct Variant {
  Fate fate = Fate::kStay;
  bool says_sorted = false;
  bool wide = false;  // so many other nodes that ids take 64 bits
  auto operator<=>(const Variant&) const = default;
};

struct Made {
  std::shared_ptr<const Graph> graph;
  std::vector<int64_t> position;  // of each edge, among all edges
};

// What a graph is made of, which borrows.
struct Kept {
  StoreContents contents;
  std::vector<int64_t> times, position;
  std::vector<double> weights;
};

// Beside them is an edge type that always has all edges.
void keep_links(const Variant& variant, Kept& made) {
  const Links& links = all_links();
  test::EdgeList kept;
  auto& [contents, times, position, weights] = made;
  for (size_t e = 0; e < kLinks; ++e) {
    if (variant.fate == Fate::kLeave && is_excluded(e)) continue;
    kept.src.push_back(links.edges.src[e]);
    kept.dst.push_back(links.edges.dst[e]);
    times.push_back(variant.fate == Fate::kComeLate && is_excluded(e) ? kLate : links.times[e]);
    weights.push_back(links.weights[e]);
    position.push_back(static_cast<int64_t>(e));
  }
  contents.node_counts["node"] = kEnds;
  if (variant.wide) contents.node_counts["other"] = int64_t{3} << 30;
  test::add_edges(contents, "node__a__node", test::csc_of(kept, kEnds, kEnds));
  test::add_edges(contents, "node__b__node", test::csc_of(links.edges, kEnds, kEnds));
  contents.arrays.emplace_back("edge/node__a__node/time", borrow(times));
  contents.arrays.emplace_back("edge/node__a__node/weight", borrow(weights));
  if (variant.says_sorted) contents.sorted_rows["node__a__node"] = "edge/node__a__node/time";
}

// A graph from which nothing was drawn yet, so that nothing is derived from it.
Made make_links(const Variant& variant) {
  static std::map<Variant, Kept> known;
  const auto [found, is_new] = known.try_emplace(variant);
  if (is_new) keep_links(variant, found->second);
  return {test::graph_of(found->second.contents), found->second.position};
}

std::vector<int64_t> among_all(const Made& made, const Relation& relation) {
  auto found = test::numbers(positions(relation));
  if (relation.edge_type == 0) {
    for (int64_t& position : found)
      position = made.position[static_cast<size_t>(position)];
  }
  return found;
}

struct Sampled {
  Made from;
  Minibatch batch;
};

void check_same(const Sampled& a, const Sampled& b) {
  REQUIRE(test::numbers(a.batch.n_id[0]) == test::numbers(b.batch.n_id[0]));
  REQUIRE(a.batch.blocks.size() == b.batch.blocks.size());
  for (size_t i = 0; i < a.batch.blocks.size(); ++i) {
    for (size_t r = 0; r < 2; ++r) {
      const Relation &x = a.batch.blocks[i].relations[r], &y = b.batch.blocks[i].relations[r];
      REQUIRE(test::numbers(x.indptr) == test::numbers(y.indptr));
      REQUIRE(test::numbers(x.indices) == test::numbers(y.indices));
      REQUIRE(among_all(a.from, x) == among_all(b.from, y));
      REQUIRE(test::bytes_of(edge_weights(x)) == test::bytes_of(edge_weights(y)));
    }
  }
}

std::vector<int64_t> link_seeds() {
  std::vector<int64_t> seeds = test::drawn_ids(60, kEnds, 5);
  seeds.insert(seeds.end(), {7, 1, 51, 7});
  return seeds;
}

Sampled sample_links(const Made& made,
                     const SampleOptions& options,
                     std::span<const ExcludedEdges> excluded,
                     int threads = 1) {
  const auto ids = link_seeds(), times = test::drawn_ids(std::ssize(ids), 60, 9);
  Seeds seeds{0, ids};
  if (options.time) seeds.times = times;
  NeighborSampler sampler(made.graph, options, nullptr, threads);
  return {made, sampler.sample(std::span(&seeds, 1), 1, 2, nullptr, excluded)};
}

SampleOptions with_hops(const std::vector<int64_t>& fanouts) {
  return {.fanouts = {fanouts, {2, 0, 1}}, .seed = 4};
}

void check_as_without_links(const SampleOptions& options, Variant variant) {
  const Made all = make_links(variant);
  variant.fate = Fate::kLeave;
  const Sampled expected = sample_links(make_links(variant), options, {});
  for (const int threads : {1, 3}) {
    if (test::kSlowBuild && threads == 1) continue;
    check_same(sample_links(all, options, {excluded_links(), 1}, threads), expected);
  }
}

const std::vector<int64_t> kHops[] = {{4, 3, 2}, {-1, 0, 20}, {40, 14, 1}};

}  // namespace

TEST_CASE("a batch is that of the graph without the excluded edges") {
  for (const auto& fanouts : kHops) {
    CAPTURE(fanouts);
    for (const Method& method :
         {Method(Uniform{}), Method(Uniform{.replace = true}), Method(Labor{}),
          Method(Labor{.layer_dependent = true, .weights = Weights::kHorvitzThompson}),
          Method(Labor{.iterations = 1}),
          Method(Labor{.iterations = 3, .weights = Weights::kHorvitzThompson}),
          Method(Labor{.table = "weight"}), Method(Labor{.iterations = 2, .table = "weight"})}) {
      CAPTURE(method.index());
      SampleOptions options = with_hops(fanouts);
      options.method = method;
      const auto* labor = std::get_if<Labor>(&method);
      if (labor != nullptr && !labor->table.empty()) options.fanouts[1] = {0, 0, 0};
      check_as_without_links(options, {});
      check_as_without_links(options, {.wide = true});
      options.expand = Expand::kOnce;
      check_as_without_links(options, {});
      options.disjoint = true;
      check_as_without_links(options, {});
    }
  }
}

TEST_CASE("a batch in time is that of the graph without the excluded edges") {
  for (const auto& fanouts : kHops) {
    for (const int64_t window : {-1, 25}) {
      for (const bool says_sorted : {false, true}) {
        SampleOptions options = with_hops(fanouts);
        options.disjoint = true;
        options.time = Time{.table = "time", .window = window};
        check_as_without_links(options, {.says_sorted = says_sorted});
        for (const Method& method :
             {Method(Uniform{.replace = true}), Method(Labor{}), Method(Labor{.iterations = 2})}) {
          options.method = method;
          check_as_without_links(options, {.says_sorted = says_sorted});
        }
        options.method = Uniform{};
        options.time->strategy = Strategy::kLast;
        check_as_without_links(options, {.says_sorted = says_sorted});
      }
    }
  }
}

TEST_CASE("the words of other edges do not change") {
  const Made late = make_links({.fate = Fate::kComeLate}), all = make_links({});
  const Made sorted = make_links({.says_sorted = true});
  for (const auto& fanouts : kHops) {
    CAPTURE(fanouts);
    for (const Method& method : {Method(Uniform{}), Method(Uniform{.replace = true}),
                                 Method(Weighted{"weight"}), Method(Weighted{"weight", true})}) {
      CAPTURE(method.index());
      for (const int64_t dependent : {1, 4}) {
        SampleOptions options{.fanouts = {fanouts, {0, 0, 0}}, .method = method, .seed = 4};
        options.dependent = dependent;
        options.disjoint = true;
        options.time = Time{.table = "time"};
        const Sampled expected = sample_links(late, options, {});
        check_same(sample_links(all, options, {excluded_links(), 1}), expected);
        check_same(sample_links(sorted, options, {excluded_links(), 1}), expected);
      }
    }
  }
}

TEST_CASE("without time the words of other edges do not change") {
  const Made late = make_links({.fate = Fate::kComeLate}), all = make_links({});
  const auto ids = link_seeds();
  const std::vector<int64_t> now(ids.size(), kLate - 1);
  const Seeds seeds{0, ids}, seeds_now{0, ids, now};
  for (const Method& method :
       {Method(Uniform{}), Method(Weighted{"weight"}), Method(Weighted{"weight", true})}) {
    SampleOptions options{.fanouts = {{4, 3, 2}, {0, 0, 0}}, .method = method, .dependent = 4};
    options.disjoint = true;
    NeighborSampler sampler(all.graph, options, nullptr, 2);
    options.time = Time{.table = "time"};
    const Minibatch expected = NeighborSampler(late.graph, options).sample(seeds_now, 1, 2);
    check_same({all, sampler.sample({&seeds, 1}, 1, 2, nullptr, {excluded_links(), 1})},
               {late, expected});
  }
}

TEST_CASE("ranks leave out the edges that one process leaves out") {
  const Made all = make_links({});
  for (const Method& method :
       {Method(Uniform{}), Method(Uniform{.replace = true}), Method(Weighted{"weight"}),
        Method(Labor{}), Method(Labor{.iterations = 2})}) {
    CAPTURE(method.index());
    for (const int64_t dependent : {1, 3}) {
      SampleOptions options{.fanouts = {{4, 3, 2}, {0, 0, 0}}, .method = method};
      options.dependent = dependent;
      const std::span<const ExcludedEdges> excluded{excluded_links(), 1};
      const Sampled alone = sample_links(all, options, excluded);
      for (const auto& owners : {test::by_ranges(*all.graph, 3), test::by_hash(*all.graph, 2)}) {
        test::Ranks ranks(all.graph, options, owners);
        const auto together = ranks.sample(0, link_seeds(), 1, 2, excluded);
        CHECK(test::edges_of(*all.graph, together) == test::edges_of(*all.graph, {alone.batch}));
      }
    }
  }
}

TEST_CASE("edges that cannot be excluded are named, and leave no trace") {
  const Made all = make_links({});
  const auto ids = link_seeds();
  const Seeds seeds{0, ids};
  NeighborSampler sampler(all.graph, with_hops({4, 3, 2}));
  test::Ranks ranks(all.graph, with_hops({4, 3, 2}), test::by_ranges(*all.graph, 1));
  const auto excluding = [&](std::span<const ExcludedEdges> excluded) {
    return sampler.sample({&seeds, 1}, 1, 2, nullptr, excluded);
  };
  const auto refused = [&](int type, const std::vector<int64_t>& positions, ErrorCode code,
                           const char* message) {
    const ExcludedEdges excluded[] = {{1, {}}, {type, positions}};
    CHECK_THROWS_WITH_AS(static_cast<void>(ranks[0].start({&seeds, 1}, 1, 2, excluded)), message,
                         Error);
    CHECK(test::message_of(code, [&] { static_cast<void>(excluding(excluded)); }) == message);
  };
  constexpr auto kOutOfRange = ErrorCode::kOutOfRange, kInvalid = ErrorCode::kInvalidArgument;
  refused(0, {5, 6'000}, kOutOfRange,
          "excluded[1] = 6000 is outside [0, 6000) of edge type 'node__a__node'");
  refused(0, {-1}, kOutOfRange,
          "excluded[0] = -1 is outside [0, 6000) of edge type 'node__a__node'");
  refused(0, {5, 9, 9}, kInvalid,
          "excluded[2] = 9 of edge type 'node__a__node' follows 9: positions ascend, each once");
  refused(0, {5, 4}, kInvalid,
          "excluded[1] = 4 of edge type 'node__a__node' follows 5: positions ascend, each once");
  refused(2, {}, kOutOfRange, "edge type of excluded edges is 2, outside [0, 2)");
  refused(-1, {}, kOutOfRange, "edge type of excluded edges is -1, outside [0, 2)");
  const ExcludedEdges twice[] = {*excluded_links(), *excluded_links()};
  CHECK_THROWS_WITH_AS(static_cast<void>(excluding(twice)),
                       doctest::Contains("name edge type 'node__a__node' twice"), Error);

  const Sampled expected = sample_links(all, with_hops({4, 3, 2}), {});
  check_same({all, excluding({})}, expected);
  static_cast<void>(excluding({excluded_links(), 1}));
  const ExcludedEdges none[] = {{0, {}}, {1, {}}};
  check_same({all, excluding(none)}, expected);
}

TEST_CASE("with every edge excluded a batch is its seeds") {
  const Made all = make_links({});
  std::vector<int64_t> every(kLinks);
  std::iota(every.begin(), every.end(), 0);
  const ExcludedEdges both[] = {{0, every}, {1, every}};
  for (const Method& method : {Method(Uniform{}), Method(Uniform{.replace = true}), Method(Labor{}),
                               Method(Labor{.iterations = 2})}) {
    SampleOptions options = with_hops({4, -1, 2});
    options.method = method;
    CHECK(test::numbers(sample_links(all, options, both).batch.n_id[0]) == link_seeds());
  }
}
