// Induced subgraphs against a slow induced_twin: every pair of nodes of a group is looked up.
#include "ramet/induced.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "ramet/error.h"
#include "ramet/random.h"
#include "support/graph_fixture.h"

using namespace ramet;

namespace {

using Edges = std::vector<std::tuple<int64_t, int64_t, int64_t>>;  // source, destination, position

struct Groups {
  std::vector<int64_t> ids, offsets = {0};

  [[nodiscard]] NodeGroups view() const { return {ids, offsets}; }
};

// Groups of 0 to 20 nodes, of which some repeat.
Groups random_groups(int64_t count, int64_t num_nodes, uint64_t key) {
  Groups groups;
  for (int64_t g = 0; g < count; ++g) {
    const uint64_t of_group = absorb(key, static_cast<uint64_t>(g));
    for (uint64_t i = 0; i < of_group % 21; ++i) {
      groups.ids.push_back(static_cast<int64_t>(
          uniform_below(absorb(of_group, i), static_cast<uint64_t>(num_nodes))));
    }
    groups.offsets.push_back(static_cast<int64_t>(groups.ids.size()));
  }
  return groups;
}

Edges induced_twin(const Graph& graph,
                   const Groups& sources,
                   const Groups& destinations,
                   EdgeOrder order) {
  const EdgeType& edges = graph.edge_types().front();
  const auto indptr = edges.indptr.as<int64_t>();
  Edges all;
  for (size_t g = 0; g + 1 < sources.offsets.size(); ++g) {
    Edges found;
    for (int64_t d = destinations.offsets[g]; d < destinations.offsets[g + 1]; ++d) {
      const auto node = static_cast<size_t>(destinations.ids[static_cast<size_t>(d)]);
      for (int64_t p = indptr[node]; p < indptr[node + 1]; ++p) {
        const int64_t source =
            with_ids(edges.indices, [&](auto ids) { return int64_t{ids[static_cast<size_t>(p)]}; });
        const auto begin = sources.ids.begin() + sources.offsets[g];
        const auto end = sources.ids.begin() + sources.offsets[g + 1];
        const auto first = std::find(begin, end, source);
        if (first != end) found.emplace_back(first - sources.ids.begin(), d, p);
      }
    }
    if (order == EdgeOrder::kBySource) std::sort(found.begin(), found.end());
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

Edges to_edges(const InducedEdges& found) {
  const auto ends = found.edge_index.as<int64_t>(), position = found.position.as<int64_t>();
  Edges edges;
  for (size_t e = 0; e < position.size(); ++e)
    edges.emplace_back(ends[e], ends[position.size() + e], position[e]);
  return edges;
}

}  // namespace

TEST_CASE("the induced edges are those of the induced_twin, for any number of threads") {
  const auto graph = test::make_graph(60, 900, 5);
  for (const int64_t count : {0, 1, 7, 200}) {
    const Groups sources = random_groups(count, 60, 1), destinations = random_groups(count, 60, 2);
    for (const EdgeOrder order : {EdgeOrder::kByDestination, EdgeOrder::kBySource}) {
      for (const Groups* others : {&sources, &destinations}) {
        const Edges expected = induced_twin(*graph, sources, *others, order);
        CHECK((count < 7 || !expected.empty()));
        for (const int threads : {1, 2, 8}) {
          CAPTURE(count);
          CAPTURE(threads);
          CHECK(to_edges(induced_edges(*graph, 0, sources.view(), others->view(), order,
                                       threads)) == expected);
        }
      }
    }
  }
}

TEST_CASE("large and small groups share one search") {
  const auto graph = test::make_graph(3000, 30'000, 9);
  Groups groups;
  for (const int64_t size : {3000, 2, 1500, 0, 3000}) {
    for (int64_t v = 0; v < size; ++v)
      groups.ids.push_back((v * 7) % 3000);
    groups.offsets.push_back(static_cast<int64_t>(groups.ids.size()));
  }
  const auto found = induced_edges(*graph, 0, groups.view(), groups.view(), EdgeOrder::kBySource);
  CHECK(to_edges(found) == induced_twin(*graph, groups, groups, EdgeOrder::kBySource));
}

// docs/semantics.md, section 24.
TEST_CASE("excluded edges are left out") {
  const auto graph = test::make_graph(60, 900, 5);
  const Groups sources = random_groups(200, 60, 1), destinations = random_groups(200, 60, 2);
  std::vector<int64_t> excluded;
  for (int64_t position = 0; position < 900; ++position)
    if (position % 7 < 3) excluded.push_back(position);
  for (const EdgeOrder order : {EdgeOrder::kByDestination, EdgeOrder::kBySource}) {
    Edges expected = induced_twin(*graph, sources, destinations, order);
    CHECK(std::erase_if(expected, [](const auto& e) { return std::get<2>(e) % 7 < 3; }) > 0);
    CHECK(to_edges(induced_edges(*graph, 0, sources.view(), destinations.view(), order, 2,
                                 excluded)) == expected);
  }
}

TEST_CASE("what does not fit is refused") {
  const auto graph = test::make_graph(10, 20, 5);
  const auto search = [&](const Groups& sources, const Groups& destinations, int edge_type = 0) {
    return induced_edges(*graph, edge_type, sources.view(), destinations.view(),
                         EdgeOrder::kByDestination);
  };
  const Groups good{{1, 2}, {0, 2}};
  CHECK_THROWS_WITH_AS(search(good, {{1, 10}, {0, 2}}), "a destination is 10, outside [0, 10)",
                       Error);
  CHECK_THROWS_WITH_AS(search(good, {{1, -1}, {0, 2}}), "a destination is -1, outside [0, 10)",
                       Error);
  CHECK_THROWS_WITH_AS(search(good, good, 1), "edge_type is 1, outside [0, 1)", Error);
  CHECK_THROWS_WITH_AS(search({{1, 2}, {0, 1}}, good),
                       "offsets of sources do not ascend from 0 to 2", Error);
  CHECK_THROWS_WITH_AS(search(good, {{1, 2}, {0, 2, 1, 2}}),
                       "offsets of destinations do not ascend from 0 to 2", Error);
  CHECK_THROWS_WITH_AS(search(good, {{}, {}}), "offsets of destinations do not ascend from 0 to 0",
                       Error);
  CHECK_THROWS_WITH_AS(search({{1, 2}, {0, 1, 2}}, good), "sources have 2 groups, destinations 1",
                       Error);
  CHECK_THROWS_WITH_AS(induced_edges(*graph, 0, good.view(), good.view(), EdgeOrder::kBySource, 1,
                                     std::vector<int64_t>{20}),
                       "excluded[0] = 20 is outside [0, 20) of edge type 'node__to__node'", Error);
}
