// Batches of pairs. Their bits are compared with the twin by tests/python/links.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "loader/loader_fixture.h"
#include "ramet/error.h"
#include "ramet/loader.h"
#include "support/errors.h"
#include "support/graph_fixture.h"
#include "support/slices.h"
#include "support/streams.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kNumNodes = 200;

// All edges, with two negatives each, and without the edges themselves.
LoaderOptions link_options(const std::shared_ptr<const Graph>& graph, int threads) {
  LoaderOptions options = options_for(threads);
  const Candidates all{.num_nodes = kNumNodes};
  const LinkNegatives negatives{
      .amount = 2, .options = {.destinations = all, .sources = all, .edges = {{.graph = graph}}}};
  options.links = {{.edge_type = 0, .negatives = negatives, .excluded = {{.edge_type = 0}}}};
  return options;
}

}  // namespace

TEST_CASE("batches of pairs are the same for any threads") {
  const auto graph = make_graph(kNumNodes, 3000, 1);
  const auto expected = run_epoch(NeighborLoader(graph, link_options(graph, 1)), 1);
  const auto batches = run_epoch(NeighborLoader(graph, link_options(graph, 4)), 1);
  REQUIRE(batches.size() == expected.size());
  for (size_t s = 0; s < batches.size(); ++s) {
    CHECK(std::ranges::equal(batches[s].links[0].edge_label_index.as<int64_t>(),
                             expected[s].links[0].edge_label_index.as<int64_t>()));
    CHECK(fingerprint_of(*graph, batches[s].minibatch) ==
          fingerprint_of(*graph, expected[s].minibatch));
  }
}

TEST_CASE("links that do not fit are refused") {
  const auto graph = make_graph(kNumNodes, 3000, 1);
  const auto refuse = [&](ErrorCode code, std::vector<std::string> words, auto&& change) {
    LoaderOptions options = link_options(graph, 1);
    change(options.links[0]);
    check_throws(code, words, [&] { const NeighborLoader loader(graph, options); });
  };
  const auto ids = [](std::vector<int64_t> values) { return copy(borrow(values)); };
  using enum ErrorCode;
  refuse(kOutOfRange, {"edge type is 7"}, [](InputEdges& edges) { edges.edge_type = 7; });
  refuse(kOutOfRange, {"node type is -1"}, [](InputEdges& edges) { edges.src = -1; });
  refuse(kOutOfRange, {"links[0].positions[1] = 3000"},
         [&](InputEdges& edges) { edges.positions = ids({0, 3000}); });
  refuse(kInvalidArgument, {"links[0].destinations"},
         [&](InputEdges& edges) { edges.sources = ids({0, 1}); });
  refuse(kOutOfRange, {"links[0].destinations[1] = 200"}, [&](InputEdges& edges) {
    edges.sources = ids({0, 1});
    edges.destinations = ids({0, kNumNodes});
  });
  refuse(kInvalidArgument, {"links[0].times"}, [&](InputEdges& edges) { edges.times = ids({1}); });
  for (const double amount : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e9})
    refuse(kInvalidArgument, {"amount is"},
           [&](InputEdges& edges) { edges.negatives->amount = amount; });
  refuse(kInvalidArgument, {"candidates are of 1 sources"},
         [](InputEdges& edges) { edges.negatives->options.sources.num_nodes = 1; });
  refuse(kInvalidArgument, {"links[0].negatives"},
         [&](InputEdges& edges) { edges.negatives->given = ids({1}); });
  refuse(kOutOfRange, {"excluded edge type is 1"},
         [](InputEdges& edges) { edges.excluded[0].edge_type = 1; });
}
