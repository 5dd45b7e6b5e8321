// The rows that are read most, against counts made edge by edge and batch by batch.
#include "loader/cached_nodes.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "support/graph_fixture.h"

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
  std::vector<std::pair<int64_t, int64_t>> score(200);
  with_ids(graph->edge_types()[0].indices, [&](auto sources) {
    for (const auto source : sources)
      ++score[static_cast<size_t>(source)].first;
  });
  for (const int64_t count : {0, 1, 50, 199, 200, 1000})
    CHECK(nodes_by_degree(*graph, 0, count) == best(score, static_cast<size_t>(count)));
}

TEST_CASE("rows by presampling are those in most batches, then with most out-edges") {
  const auto graph = test::make_graph(300, 2000, 4);
  LoaderOptions options;
  options.sample = {{{3, 2}}, Uniform{}, 7};
  options.batch_size = 16;
  options.shuffle = true;
  options.threads = 1;
  const NeighborLoader loader(graph, options);
  std::vector<std::pair<int64_t, int64_t>> score(300);
  const auto stream = loader.start(0);
  for (int step = 0; step < 5; ++step) {
    const auto batch = stream->next(std::chrono::seconds(10));
    REQUIRE(batch);
    for (const int64_t node : batch->minibatch.n_id[0].as<int64_t>())
      ++score[static_cast<size_t>(node)].first;
  }
  with_ids(graph->edge_types()[0].indices, [&](auto sources) {
    for (const auto source : sources)
      ++score[static_cast<size_t>(source)].second;
  });
  const auto seeds = [&](int64_t step) { return SeedList{{{0, loader.seeds(0, step)}}}; };
  CHECK(nodes_by_presampling(graph, options, seeds, 5, 0, 40) == best(score, 40));
}

TEST_CASE("uses by row are out-edges") {
  const auto graph = test::make_graph(200, 1500, 3);
  std::vector<int64_t> degrees(200);
  with_ids(graph->edge_types()[0].indices, [&](auto sources) {
    for (const auto source : sources)
      ++degrees[static_cast<size_t>(source)];
  });
  CHECK(uses_by_row(*graph, {.name = "feat"}, 200) == degrees);
}
