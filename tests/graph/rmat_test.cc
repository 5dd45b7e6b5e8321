#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "graph/alias_table.h"
#include "ramet/error.h"
#include "ramet/generate.h"
#include "ramet/graph.h"
#include "ramet/random.h"
#include "support/graph_fixture.h"
#include "support/statistics.h"

using namespace ramet;

namespace {

const RmatOptions kSmallRmat{.scale = 13, .edge_factor = 8, .feature_width = 4, .seed = 3};

struct RmatRows {
  std::shared_ptr<const Graph> graph;
  std::span<const int64_t> indptr;
  std::span<const int32_t> indices;

  explicit RmatRows(const RmatOptions& options)
      : graph(Graph::from_store(make_segment(generate_rmat(options)))),
        indptr(graph->edge_types().front().indptr.as<int64_t>()),
        indices(graph->edge_types().front().indices.as<int32_t>()) {
    validate(*graph);
  }

  [[nodiscard]] size_t size() const { return indptr.size() - 1; }
  [[nodiscard]] std::span<const int32_t> operator[](size_t v) const {
    return indices.subspan(static_cast<size_t>(indptr[v]),
                           static_cast<size_t>(indptr[v + 1] - indptr[v]));
  }
};

}  // namespace

TEST_CASE("rmat: the same for any number of threads, another for another seed") {
  const StoreContents one = generate_rmat(kSmallRmat, 1);
  test::require_equal(one, generate_rmat(kSmallRmat, 4));
  RmatOptions other = kSmallRmat;
  other.seed = 4;
  CHECK(generate_rmat(other).arrays[1].second.rows() != one.arrays[1].second.rows());
}

TEST_CASE("rmat: features made piece by piece are those of the whole table") {
  RmatOptions options = kSmallRmat;
  options.feature_width = 3;
  const StoreContents contents = generate_rmat(options);
  const auto found =
      std::find_if(contents.arrays.begin(), contents.arrays.end(),
                   [](const auto& named) { return named.first == "node/node/feat"; });
  REQUIRE(found != contents.arrays.end());
  const auto* const whole = static_cast<const float*>(found->second.data);
  const int64_t num_nodes = int64_t{1} << options.scale, rows = 100;
  for (int64_t first = 0; first < num_nodes; first += rows) {
    std::vector<float> piece(static_cast<size_t>(3 * std::min(rows, num_nodes - first)));
    rmat_features(options, first, piece);
    CHECK(std::equal(piece.begin(), piece.end(), whole + 3 * first));
  }
  std::vector<float> four(4), six(6);
  CHECK_THROWS_WITH_AS(rmat_features(options, 0, four),
                       doctest::Contains("4 floats are no rows of 3"), Error);
  CHECK_THROWS_AS(rmat_features(options, num_nodes - 1, six), Error);
  CHECK_THROWS_AS(rmat_features(options, -1, six), Error);
}

TEST_CASE("rmat: symmetric, rows sorted, no edge twice") {
  const RmatRows rows(kSmallRmat);
  for (size_t v = 0; v < rows.size(); ++v) {
    CHECK(std::adjacent_find(rows[v].begin(), rows[v].end(), std::greater_equal<>()) ==
          rows[v].end());
    for (const int32_t u : rows[v]) {
      const auto back = rows[static_cast<size_t>(u)];
      REQUIRE(std::binary_search(back.begin(), back.end(), static_cast<int32_t>(v)));
    }
  }
}

TEST_CASE("rmat: hubs, nodes without neighbors, and ids that say nothing of degrees") {
  const RmatRows rows(kSmallRmat);
  const double mean = static_cast<double>(rows.indices.size()) / static_cast<double>(rows.size());
  size_t largest = 0, isolated = 0, in_first_half = 0;
  for (size_t v = 0; v < rows.size(); ++v) {
    largest = std::max(largest, rows[v].size());
    isolated += rows[v].empty();
    if (v < rows.size() / 2) in_first_half += rows[v].size();
  }
  CHECK(static_cast<double>(largest) > 30 * mean);
  CHECK(isolated > rows.size() / 10);
  // Unscrambled, the lower half of the ids would have three quarters of the edges.
  CHECK(static_cast<double>(in_first_half) / static_cast<double>(rows.indices.size()) < 0.6);
}

TEST_CASE("rmat: quadrants of equal probability make degrees even") {
  const RmatRows rows({.scale = 12, .edge_factor = 8, .a = 0.25, .b = 0.25, .c = 0.25});
  size_t largest = 0;
  for (size_t v = 0; v < rows.size(); ++v)
    largest = std::max(largest, rows[v].size());
  CHECK(largest < 50);  // mean 16
}

TEST_CASE("rmat: draws of four levels have their probabilities") {
  std::array<double, 256> weights{};
  for (size_t i = 0; i < 256; ++i)
    weights[i] = static_cast<double>(i * i) / 5559680.0;  // the sum of all squares below 256^2
  const AliasTable table(weights);
  constexpr int64_t kDraws = 1'000'000;
  std::vector<int64_t> counts(256);
  for (uint64_t i = 0; i < kDraws; ++i)
    ++counts[table.draw(mix64(i))];
  CHECK(counts[0] == 0);
  double chi2 = 0;
  for (size_t i = 1; i < 256; ++i) {
    const double expected = weights[i] * kDraws;
    chi2 += std::pow(static_cast<double>(counts[i]) - expected, 2) / expected;
  }
  CHECK(test::chi2_p(chi2, 254) > 1e-4);
}

TEST_CASE("rmat: a tenth of the nodes that have neighbors is to train on") {
  const RmatRows rows(kSmallRmat);
  const auto train = rows.graph->splits().at("train").at("node").as<int32_t>();
  size_t with_neighbors = 0;
  for (size_t v = 0; v < rows.size(); ++v)
    with_neighbors += !rows[v].empty();
  for (const int32_t v : train)
    REQUIRE_FALSE(rows[static_cast<size_t>(v)].empty());
  CHECK(static_cast<double>(train.size()) ==
        doctest::Approx(0.1 * static_cast<double>(with_neighbors)).epsilon(0.15));
}

TEST_CASE("rmat: features are optional") {
  CHECK(RmatRows(kSmallRmat).graph->node_types().front().tables.at("feat").shape ==
        std::vector<int64_t>{1 << 13, 4});
  CHECK(RmatRows({.scale = 1, .edge_factor = 0}).graph->node_types().front().tables.empty());
}

TEST_CASE("rmat: bad options are named") {
  CHECK_THROWS_WITH_AS(generate_rmat({.scale = 31}), "generate: scale is 31, expected 1 to 30",
                       Error);
  CHECK_THROWS_AS(generate_rmat({.scale = 0}), Error);
  CHECK_THROWS_AS(generate_rmat({.edge_factor = -1}), Error);
  CHECK_THROWS_AS(generate_rmat({.a = 0.9, .b = 0.2}), Error);
  CHECK_THROWS_AS(generate_rmat({.c = -0.1}), Error);
  CHECK_THROWS_AS(generate_rmat({.feature_width = -1}), Error);
  CHECK_THROWS_AS(generate_rmat({.train_fraction = 1.5}), Error);
}
