#include "ramet/generate.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "ramet/error.h"

using namespace ramet;

namespace {

const PlantedOptions kSmall{.num_nodes = 5000,
                            .num_edges = 50'000,
                            .communities = 10,
                            .classes = 5,
                            .feature_width = 8,
                            .seed = 3};

struct Edges {
  Edges(const PlantedOptions& options, int threads)
      : src(static_cast<size_t>(options.num_edges)), dst(src.size()) {
    planted_edges(options, 0, src, dst, threads);
  }
  std::vector<int32_t> src, dst;
};

std::pair<std::vector<int64_t>, std::vector<uint8_t>> labels_of(const PlantedOptions& options) {
  std::vector<int64_t> labels(static_cast<size_t>(options.num_nodes));
  std::vector<uint8_t> splits(labels.size());
  planted_labels(options, 0, labels, splits);
  return {std::move(labels), std::move(splits)};
}

}  // namespace

TEST_CASE("draws depend on neither threads nor pieces") {
  const Edges whole(kSmall, 1), again(kSmall, 4);
  CHECK(whole.src == again.src);
  CHECK(whole.dst == again.dst);
  std::vector<int32_t> src(1000), dst(1000);
  planted_edges(kSmall, 7000, src, dst);
  CHECK(std::equal(src.begin(), src.end(), whole.src.begin() + 7000));
  CHECK(std::equal(dst.begin(), dst.end(), whole.dst.begin() + 7000));

  std::vector<float> rows(5000 * 8), some(10 * 8);
  planted_features(kSmall, 0, rows, 3);
  planted_features(kSmall, 90, some);
  CHECK(std::equal(some.begin(), some.end(), rows.begin() + 90 * 8));
}

TEST_CASE("the graph is homophilous and has hubs; directed, sources are drawn evenly") {
  const auto [labels, splits] = labels_of(kSmall);
  CHECK(std::ranges::count(splits, 3) == 0);
  for (const bool undirected : {true, false}) {
    PlantedOptions options = kSmall;
    options.undirected = undirected;
    const Edges edges(options, 2);
    int64_t same = 0;
    std::vector<int64_t> in(5000), out(5000);
    for (size_t e = 0; e < edges.src.size(); ++e) {
      const auto src = static_cast<size_t>(edges.src[e]), dst = static_cast<size_t>(edges.dst[e]);
      same += labels[src] == labels[dst];
      ++out[src];
      ++in[dst];
    }
    CHECK(same > 30'000);
    CHECK(std::ranges::max(in) > 10 * 10);
    CHECK((std::ranges::max(out) > 10 * 10) == undirected);
  }
}

TEST_CASE("nodes beyond the labeled share have no label and no split") {
  PlantedOptions options = kSmall;
  options.labeled = 0.2;
  const auto [labels, splits] = labels_of(options);
  const auto unlabeled = std::ranges::count(labels, -1);
  CHECK(unlabeled == doctest::Approx(4000).epsilon(0.05));
  CHECK(std::ranges::count(splits, 3) == unlabeled);
  CHECK(std::ranges::count(splits, 0) == doctest::Approx(500).epsilon(0.2));
}

TEST_CASE("bad options are named") {
  std::vector<int32_t> ends(10);
  const auto draw = [&](const PlantedOptions& options, int64_t first) {
    planted_edges(options, first, ends, ends);
  };
  PlantedOptions options = kSmall;
  options.communities = 0;
  CHECK_THROWS_WITH_AS(draw(options, 0),
                       "generate: communities is 0, expected 1 to num_nodes = 5000", Error);
  options = kSmall;
  options.homophily = 1.5;
  CHECK_THROWS_AS(draw(options, 0), Error);
  options = kSmall;
  options.labeled = 0.12;
  CHECK_THROWS_AS(draw(options, 0), Error);
  CHECK_THROWS_WITH_AS(draw(kSmall, 49'995), "generate: edges 49995 to 50005 of 50000", Error);
}
