// Options of budgets, their refusals, stores that do not fit, and scratch memory. The batches are
// compared with the twin by tests/python/sampling.
#include <doctest/doctest.h>

#include <vector>

#include "ramet/error.h"
#include "ramet/sampler.h"
#include "support/errors.h"
#include "support/graph_fixture.h"
#include "support/ids.h"
#include "support/store_fixture.h"

using namespace ramet;

namespace {

const std::vector<int64_t> kBudgetSeeds{5, 7, 5, 0};

SampleOptions by_type(std::vector<int64_t> budgets) {
  return {.fanouts = {std::move(budgets)}, .method = Budget{}, .expand = Expand::kOnce};
}

SampleOptions by_tree(int64_t nodes) {
  return {.fanouts = {{5, 5}}, .method = Budget{nodes}, .expand = Expand::kOnce, .disjoint = true};
}

void refuse_budget(SampleOptions options, const std::vector<std::string>& words) {
  test::check_throws(ErrorCode::kInvalidArgument, words, [&] {
    const NeighborSampler sampler(test::make_graph(300, 4000, 11), std::move(options));
  });
}

void check_same_nodes_and_edges(const Minibatch& a, const Minibatch& b) {
  REQUIRE(test::numbers(a.n_id[0]) == test::numbers(b.n_id[0]));
  REQUIRE(test::numbers(merged_positions(a, 0)) == test::numbers(merged_positions(b, 0)));
}

}  // namespace

TEST_CASE("budgets that cannot be are refused") {
  refuse_budget(by_type({3, -1}),
                {"num_neighbors[1] of node type 'node' is -1, expected 0 or more nodes"});
  refuse_budget(by_tree(0), {"nodes_per_tree of Budget is 0, expected 1 or more"});
  SampleOptions options = by_tree(3);
  options.disjoint = false;
  refuse_budget(options, {"Budget with nodes_per_tree needs disjoint"});
  options = by_type({3});
  options.disjoint = true;
  refuse_budget(options, {"give nodes_per_tree"});
  options = by_type({3});
  options.expand = Expand::kEvery;
  refuse_budget(options, {"Budget needs expand = 'once'"});
  options = by_type({3});
  options.fanouts = {};
  refuse_budget(options, {"fanouts name 0 node types, but the graph has 1"});
}

TEST_CASE("batches leave no trace in the next, also where a node is none of the graph") {
  const auto graph = test::make_graph(300, 4000, 11);
  for (const SampleOptions& options : {by_type({20, 30}), by_tree(9)}) {
    NeighborSampler sampler(graph, options);
    const Minibatch expected = sampler.sample({0, kBudgetSeeds}, 2, 9);
    static_cast<void>(sampler.sample({0, std::vector<int64_t>{3, 4, 299}}, 0, 1));
    CHECK_THROWS_AS(static_cast<void>(sampler.sample({0, std::vector<int64_t>{300}}, 0, 1)), Error);
    check_same_nodes_and_edges(sampler.sample({0, kBudgetSeeds}, 2, 9), expected);
  }
}

// docs/format.md, section 4, second row.
TEST_CASE("rows and ids that do not fit are errors, and the sampler goes on with those that do") {
  const std::vector<int64_t> indptr{0, 9, 2, 3}, good_indptr{0, 1, 2, 3};
  const std::vector<int32_t> indices{0, 1, 2}, bad{0, 3, 2};
  const auto check = [&](const auto& rows, const auto& sources, const std::string& message) {
    const auto graph = test::graph_of(test::one_type({borrow(rows), borrow(sources), {}}, 3));
    NeighborSampler sampler(graph, by_type({2}));
    test::check_throws(ErrorCode::kCorrupt, {message}, [&] {
      static_cast<void>(sampler.sample({0, std::vector<int64_t>{0, 1}}, 0, 0));
    });
    CHECK(sampler.sample({0, std::vector<int64_t>{2}}, 0, 0).n_id[0].rows() == 1);
  };
  check(indptr, indices, "indptr, entry 1: 9 is outside [0, 3]");
  check(good_indptr, bad, "indices, entry 1: 3 is outside [0, 3)");
}

TEST_CASE("hops and parents are those of the nodes' numbers, and of merged batches alone") {
  const auto graph = test::make_graph(300, 4000, 11);
  const Minibatch trees = NeighborSampler(graph, by_tree(9)).sample({0, kBudgetSeeds}, 0, 0);
  const auto hops = test::numbers(hops_of_nodes(trees)[0]);
  const auto parents = test::numbers(parents_of_nodes(*graph, trees)[0]);
  REQUIRE(hops.size() == parents.size());
  for (size_t i = 0; i < hops.size(); ++i) {
    if (i < kBudgetSeeds.size()) REQUIRE(parents[i] == -1);
    if (i >= kBudgetSeeds.size()) REQUIRE(hops[static_cast<size_t>(parents[i])] == hops[i] - 1);
  }
  const Minibatch induced = NeighborSampler(graph, by_type({9})).sample({0, kBudgetSeeds}, 0, 0);
  CHECK(test::numbers(hops_of_nodes(induced)[0]).back() == 1);
  CHECK_THROWS_AS(static_cast<void>(parents_of_nodes(*graph, induced)), Error);
  const SampleOptions plain{{{3}}, Uniform{}, 0};
  const Minibatch blocks = NeighborSampler(graph, plain).sample({0, kBudgetSeeds}, 0, 0);
  CHECK_THROWS_AS(static_cast<void>(hops_of_nodes(blocks)), Error);
}
