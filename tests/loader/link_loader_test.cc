// Batches of pairs. Their bits are compared with the twin by tests/python/links.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "loader/loader_fixture.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/loader.h"
#include "support/errors.h"
#include "support/graph_fixture.h"
#include "support/streams.h"

using namespace ramet;
using namespace ramet::test;

namespace {

using Pair = std::pair<int64_t, int64_t>;

constexpr int64_t kNumNodes = 200;

// Rows are in the order of the edges, and so sorted by source.
std::shared_ptr<const Graph> sorted_graph() {
  EdgeList edges = random_edges(kNumNodes, kNumNodes, 3000, 1);
  std::sort(edges.src.begin(), edges.src.end());
  return make_graph(edges, kNumNodes);
}

// All edges, with two negatives each, and without the edges themselves.
LoaderOptions link_options(const std::shared_ptr<const Graph>& graph, int threads) {
  LoaderOptions options = options_for(threads);
  const Candidates all{.num_nodes = kNumNodes};
  const LinkNegatives negatives{
      .amount = 2, .options = {.destinations = all, .sources = all, .edges = {{.graph = graph}}}};
  options.links = {{.edge_type = 0, .negatives = negatives, .excluded = {{.edge_type = 0}}}};
  return options;
}

Pair pair_of(const Batch& batch, int64_t column) {
  const Array& index = batch.links[0].edge_label_index;
  const auto local = index.as<int64_t>();
  const auto ids = batch.minibatch.n_id[0].as<int64_t>();
  const auto columns = index.shape[1];
  return {ids[static_cast<size_t>(local[static_cast<size_t>(column)])],
          ids[static_cast<size_t>(local[static_cast<size_t>(columns + column)])]};
}

Pair edge_at(const EdgeType& edges, int64_t position) {
  const auto indptr = edges.indptr.as<int64_t>();
  const auto row = std::upper_bound(indptr.begin(), indptr.end(), position) - indptr.begin() - 1;
  return {
      with_ids(edges.indices,
               [&](auto ids) { return static_cast<int64_t>(ids[static_cast<size_t>(position)]); }),
      row};
}

}  // namespace

TEST_CASE("pairs are edges, negatives are none, and no block has the batch's edges") {
  const auto graph = sorted_graph();
  const EdgeType& edges = graph->edge_types()[0];
  std::set<Pair> all;
  for (int64_t position = 0; position < edges.num_edges(); ++position)
    all.insert(edge_at(edges, position));
  const auto expected = run_epoch(NeighborLoader(graph, link_options(graph, 1)), 1);
  const auto batches = run_epoch(NeighborLoader(graph, link_options(graph, 4)), 1);
  REQUIRE(batches.size() == expected.size());
  for (size_t s = 0; s < batches.size(); ++s) {
    const Batch& batch = batches[s];
    const Links& links = batch.links.at(0);
    const auto positions = batch.input_id.as<int64_t>();
    REQUIRE(std::ranges::equal(links.edge_label_index.as<int64_t>(),
                               expected[s].links[0].edge_label_index.as<int64_t>()));
    REQUIRE(links.num_pairs == std::ssize(positions));
    REQUIRE(links.edge_label_index.shape[1] == 3 * links.num_pairs);
    for (int64_t i = 0; i < links.num_pairs; ++i)
      CHECK(pair_of(batch, i) == edge_at(edges, positions[static_cast<size_t>(i)]));
    for (int64_t i = 0; i < 2 * links.num_pairs; ++i) {
      const Pair negative = pair_of(batch, links.num_pairs + i);
      CHECK(all.count(negative) == 0);
      const int64_t pair = links.pair_of_negative.as<int64_t>()[static_cast<size_t>(i)];
      CHECK(negative.first == pair_of(batch, pair).first);
    }
    const std::set<int64_t> excluded(positions.begin(), positions.end());
    for (const Block& block : batch.minibatch.blocks) {
      const Array drawn = ramet::positions(block.relations[0]);
      for (const int64_t position : drawn.as<int64_t>())
        CHECK(excluded.count(position) == 0);
    }
  }
}

TEST_CASE("links that do not fit are refused") {
  const auto graph = sorted_graph();
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
