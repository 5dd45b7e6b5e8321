// What ranks sample together is what one process samples, and their plans fit together.
#include "sampling/cooperative_sampler.h"

#include <doctest/doctest.h>

#include <numeric>
#include <set>
#include <vector>

#include "ramet/fingerprint.h"
#include "ramet/sampler.h"
#include "support/cooperative_fixture.h"
#include "support/fingerprints.h"
#include "support/slow_build.h"

using namespace ramet;
using namespace ramet::test;

namespace {

// Items that point to each other and to users, and users to items. More users than 32 bits count
// are users without in-edges.
std::shared_ptr<const Graph> make_typed(int64_t num_users) {
  constexpr int64_t kItems = 400, kFew = 300;
  const bool few = num_users == kFew;
  StoreContents contents;
  contents.node_counts = {{"item", kItems}, {"user", num_users}};
  const auto add = [&](const std::string& name, int64_t num_src, int64_t num_dst, uint64_t key) {
    add_edges(contents, name, csc_of(random_edges(num_src, num_dst, 3000, key), num_src, num_dst));
  };
  add("item__like__item", kItems, kItems, 1);
  add("user__likes__item", num_users, kItems, 2);
  if (few) add("item__liked-by__user", kItems, num_users, 3);
  return graph_of(contents);
}

std::shared_ptr<const Graph> narrow() {
  static const auto graph = make_typed(300);
  return graph;
}

std::shared_ptr<const Graph> wide() {
  static const auto graph = make_typed(int64_t{3} << 30);
  return graph;
}

std::vector<int64_t> some_seeds() {
  std::vector<int64_t> seeds{7, 7, 399, 0, 7};
  for (int64_t i = 0; i < 40; ++i)
    seeds.push_back(i * 37 % 400);
  return seeds;
}

std::vector<SampleOptions> many_options(const Graph& graph) {
  const auto fanouts = [&](std::vector<int64_t> hops) {
    std::vector<std::vector<int64_t>> all(graph.edge_types().size(), hops);
    std::rotate(all.back().begin(), all.back().begin() + 1, all.back().end());
    return all;
  };
  std::vector<SampleOptions> all;
  all.push_back({.fanouts = fanouts({4, 3, 2}), .seed = 5});
  all.push_back({.fanouts = fanouts({-1, 0, 20})});
  all.push_back({.fanouts = fanouts({0, 0})});
  all.push_back({.fanouts = fanouts({5, 3}), .method = Uniform{.replace = true}});
  all.push_back({.fanouts = fanouts({-1, 2}), .method = Uniform{.replace = true}});
  all.push_back({.fanouts = fanouts({4, 3}), .dependent = 4});
  all.push_back({.fanouts = fanouts({4, 3, 2}), .method = Labor{}});
  all.push_back({.fanouts = fanouts({4, 3}), .method = Labor{.layer_dependent = true}});
  all.push_back({.fanouts = fanouts({3, -1}), .method = Labor{}, .dependent = 3});
  for (const int64_t iterations : {1, 4})
    all.push_back({.fanouts = fanouts({4, 0, 3}), .method = Labor{.iterations = iterations}});
  all.push_back({.fanouts = fanouts({4, 3, 2}), .expand = Expand::kOnce});
  all.push_back(
      {.fanouts = fanouts({4, 3}), .method = Labor{.iterations = 1}, .expand = Expand::kOnce});
  // docs/semantics.md, section 25
  for (const std::vector<int64_t>& hops : {std::vector<int64_t>{30, 1, 70}, {2000}, {}})
    all.push_back({.fanouts = std::vector(graph.node_types().size(), hops),
                   .method = Budget{},
                   .seed = 2,
                   .expand = Expand::kOnce});
  for (const int64_t nodes : {1, 8, 40})
    all.push_back({.fanouts = fanouts({5, -1, 4}),
                   .method = Budget{nodes},
                   .expand = Expand::kOnce,
                   .disjoint = true});
  return all;
}

void check_same_nodes(const std::vector<Minibatch>& ranks, const Minibatch& alone) {
  for (size_t t = 0; t < alone.n_id.size(); ++t) {
    std::vector<int64_t> together, expected = numbers(alone.n_id[t]);
    for (const Minibatch& batch : ranks) {
      const auto ids = numbers(batch.n_id[t]);
      together.insert(together.end(), ids.begin(), ids.end());
    }
    std::sort(together.begin(), together.end());
    std::sort(expected.begin(), expected.end());
    CHECK(together == expected);  // with as many repeats: ranks have no node in common
  }
}

void check_equal_parts(const std::shared_ptr<const Graph>& graph,
                       const SampleOptions& options,
                       const Owners& owners,
                       int threads) {
  Ranks ranks(graph, options, owners, threads);
  NeighborSampler sampler(graph, options);
  for (uint64_t step = 0; step < 2; ++step) {
    const auto together = ranks.sample(0, some_seeds(), 3, step);
    const Minibatch alone = sampler.sample({0, some_seeds()}, 3, step);
    CHECK(edges_of(*graph, together) == edges_of(*graph, {alone}));
    check_same_nodes(together, alone);
    std::vector<SampledFrom> from;
    for (const Minibatch& batch : together)
      from.push_back({graph.get(), &batch});
    CHECK(fingerprint(from) == fingerprint_of(*graph, alone));
  }
}

}  // namespace

TEST_CASE("ranks sample the edges of one process, whoever owns what") {
  const auto graph = narrow();
  for (const SampleOptions& options : many_options(*graph)) {
    CAPTURE(options.fanouts);
    CAPTURE(options.method.index());
    for (const int64_t ranks : kSlowBuild ? std::vector{3} : std::vector{1, 2, 3, 7}) {
      CAPTURE(ranks);
      check_equal_parts(graph, options, by_ranges(*graph, ranks), 1);
      check_equal_parts(graph, options, by_hash(*graph, ranks), 3);
    }
    check_equal_parts(graph, options, by_vector(*graph, 4, [](int64_t) { return 2; }), 1);
    check_equal_parts(graph, options,
                      by_vector(*graph, 4, [](int64_t v) { return v % 7 < 5 ? 1 : 3; }), 1);
  }
}

TEST_CASE("ranks sample the edges of one process, with ids beyond 32 bits") {
  const auto graph = wide();
  for (const SampleOptions& options : many_options(*graph)) {
    for (const int64_t ranks : kSlowBuild ? std::vector{3} : std::vector{1, 3}) {
      check_equal_parts(graph, options, by_ranges(*graph, ranks), 3);
      check_equal_parts(graph, options, by_hash(*graph, ranks), 1);
    }
  }
}

TEST_CASE("ranks without tables for relabeling of their own size, and with them, sample the same") {
  const auto [hashed, direct] = graphs_by_table(200'000);
  std::vector<int64_t> seeds(500);
  std::iota(seeds.begin(), seeds.end(), 0);
  for (const auto& graph : {hashed, direct}) {
    const SampleOptions options{.fanouts = {{5, 5, 5}}, .seed = 2};
    Ranks ranks(graph, options, by_hash(*graph, 3), 2);
    const auto together = ranks.sample(0, seeds, 1, 1);
    const Minibatch alone = NeighborSampler(graph, options).sample({0, seeds}, 1, 1);
    CHECK(edges_of(*graph, together) == edges_of(*graph, {alone}));
    check_same_nodes(together, alone);
  }
}

namespace {

// Entries that belong to `rank` in a list that is sorted by rank.
std::vector<int64_t> part(const std::vector<int64_t>& list,
                          const std::vector<int64_t>& counts,
                          size_t rank) {
  const auto begin =
      list.begin() + std::accumulate(counts.begin(), counts.begin() + static_cast<long>(rank), 0L);
  return {begin, begin + counts[rank]};
}

int64_t sum(const std::vector<int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// What rank `to` pulls from rank `from` is what it says, and what `from` says it sends.
void check_pull(const Minibatch& to_batch,
                size_t to,
                const Minibatch& from_batch,
                size_t from,
                size_t block,
                size_t type) {
  const ExchangePlan& pull = to_batch.blocks[block].exchange[type];
  const ExchangePlan& push = from_batch.blocks[block].exchange[type];
  const auto expected = part(numbers(pull.source_ids), pull.receive_counts, from);
  const auto rows = part(numbers(push.send_rows), push.send_counts, to);
  REQUIRE(rows.size() == expected.size());
  const auto n_id = numbers(from_batch.n_id[type]);
  for (size_t i = 0; i < rows.size(); ++i) {
    REQUIRE(0 <= rows[i]);
    REQUIRE(rows[i] < push.num_owned);
    REQUIRE(n_id[static_cast<size_t>(rows[i])] == expected[i]);
  }
}

void check_counts(const Minibatch& batch, size_t block, size_t type, size_t num_ranks) {
  const Block& of = batch.blocks[block];
  const ExchangePlan& plan = of.exchange[type];
  REQUIRE(plan.send_counts.size() == num_ranks);
  REQUIRE(plan.receive_counts.size() == num_ranks);
  CHECK(sum(plan.send_counts) == plan.send_rows.rows());
  CHECK(sum(plan.receive_counts) == plan.source_ids.rows());
  CHECK(of.num_src[type] == of.num_dst[type] + plan.source_ids.rows());
  // A layer's input is the output of the layer before, or what was read.
  CHECK(plan.num_owned ==
        (block == 0 ? batch.n_id[type].rows() : batch.blocks[block - 1].num_dst[type]));
  CHECK(of.num_dst[type] <= plan.num_owned);
  const auto own_seeds = static_cast<size_t>(num_seeds(batch, type));
  auto ids = sources(batch, block, type);
  ids.erase(ids.begin(), ids.begin() + static_cast<long>(std::min(own_seeds, ids.size())));
  CHECK(std::set(ids.begin(), ids.end()).size() == ids.size());  // but for the seeds' own repeats
}

}  // namespace

TEST_CASE("the plans of all ranks fit together, in every block and for every type") {
  const auto graph = narrow();
  for (const SampleOptions& options : many_options(*graph)) {
    if (options.expand == Expand::kOnce) continue;  // no blocks
    for (const Owners& owners :
         {by_hash(*graph, 3), by_ranges(*graph, 7),
          by_vector(*graph, 4, [](int64_t v) { return v % 3 == 0 ? 0 : 3; })}) {
      Ranks ranks(graph, options, owners, 2);
      const auto batches = ranks.sample(0, some_seeds());
      for (size_t to = 0; to < batches.size(); ++to) {
        CHECK(numbers(batches[to].n_id[0]).size() >= static_cast<size_t>(batches[to].num_seeds));
        for (size_t t = 0; t < batches[to].n_id.size(); ++t) {
          for (const int64_t node : numbers(batches[to].n_id[t]))
            REQUIRE(owners[t].owner(node) == static_cast<int64_t>(to));
          for (size_t b = 0; b < batches[to].blocks.size(); ++b) {
            check_counts(batches[to], b, t, batches.size());
            for (size_t from = 0; from < batches.size(); ++from)
              check_pull(batches[to], to, batches[from], from, b, t);
          }
        }
      }
    }
  }
}

TEST_CASE("the seeds of a rank come first, in their order") {
  const auto graph = narrow();
  Ranks ranks(graph, {.fanouts = {{2}, {2}, {2}}}, by_hash(*graph, 3));
  const auto batches = ranks.sample(0, some_seeds());
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto first = numbers(batches[rank].n_id[0]);
    first.resize(static_cast<size_t>(batches[rank].num_seeds));
    CHECK(first == ranks.own(0, some_seeds(), rank));
  }
}
