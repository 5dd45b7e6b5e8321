// Attention over the edges of blocks for any number of threads, self loops, and arrays that do not
// fit. The kernels are compared with arithmetic by tests/kernels/attention_kernels_test.cc, what
// they make together with PyG by tests/python/nn/test_attention.py.
#include "ramet/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "aggregation_cases.h"
#include "ramet/error.h"
#include "support/values.h"

using namespace ramet;

namespace {

struct Values {
  std::vector<double> values;
  Array array;

  explicit Values(std::vector<int64_t> shape, uint64_t key = 0) {
    array = {nullptr, DType::kFloat64, std::move(shape), nullptr, true};
    // One more, so that there is always an address.
    values = test::drawn_values<double>(array.bytes() / 8 + 1, key);
    array.data = values.data();
  }
  Values(const Values&) = delete;
};

std::vector<Edges> attention_edges() {
  std::vector<Edges> all = all_edges();
  all.emplace_back(3000, 4000, [](int64_t d) { return d % 12; });
  return all;
}

constexpr int64_t kHeads = 3;

}  // namespace

TEST_CASE("results and gradients have the same bits for any number of threads") {
  constexpr int64_t kWidth = 19;
  for (const Edges& edges : attention_edges()) {
    const BlockEdges block = edges.block();
    const std::vector<int64_t> by_edge{edges.num_edges(), kHeads}, by_source{edges.num_src, kHeads},
        by_destination{edges.num_dst(), kHeads}, wide_edge{edges.num_edges(), kHeads, kWidth},
        wide_source{edges.num_src, kHeads, kWidth},
        wide_destination{edges.num_dst(), kHeads, kWidth};
    const Values scores(by_edge, 1), grad(by_edge, 2), source(by_source, 3),
        x({edges.num_src + 2, kWidth}, 4), destination(by_destination, 5), features(wide_edge, 6),
        wide(wide_source, 7), wide_grad(wide_destination, 8), att({kHeads, kWidth}, 9);
    const GatScores gat{source.array, destination.array, scores.array, 0.3};
    const Gatv2Scores gatv2{wide.array, wide_grad.array, att.array, features.array, 0.2};
    std::vector<std::vector<double>> first;
    for (const int threads : {1, 2, 8}) {
      const Values softmax(by_edge), softmax_back(by_edge), of_gat(by_edge), gat_back(by_edge),
          at_destinations(by_destination), at_sources(by_source), sums(wide_destination),
          sums_back({edges.num_src, kWidth}), dots(by_edge), of_gatv2(by_edge),
          att_back({kHeads, kWidth});
      edge_softmax(block, scores.array, softmax.array, threads);
      edge_softmax_back(block, softmax.array, grad.array, softmax_back.array, threads);
      gat_softmax(block, gat, of_gat.array, threads);
      gat_softmax_back(block, gat, of_gat.array, grad.array, gat_back.array, at_destinations.array,
                       threads);
      sum_at_sources(block, gat_back.array, at_sources.array, threads);
      head_sums(block, x.array, scores.array, sums.array, threads);
      head_sums_back(block, wide_grad.array, scores.array, sums_back.array, threads);
      head_dots(block, wide_grad.array, x.array, dots.array, threads);
      gatv2_scores(block, gatv2, of_gatv2.array, threads);
      Gatv2Scores back;
      back.att = att_back.array;
      gatv2_scores_back(block, gatv2, grad.array, back, threads);
      std::vector<std::vector<double>> all;
      for (const Values* values : {&softmax, &softmax_back, &of_gat, &gat_back, &at_destinations,
                                   &at_sources, &sums, &sums_back, &dots, &of_gatv2, &att_back})
        all.push_back(values->values);
      if (first.empty()) first = all;
      CHECK(all == first);
    }
  }
}

TEST_CASE("self loops: one at each destination that is a source, after its other edges") {
  const std::vector<int64_t> indptr = {0, 3, 3, 5, 6};
  const std::vector<int32_t> indices = {1, 0, 2, 2, 2, 0};
  const BlockEdges block(borrow(indptr), borrow(indices), 3);
  const LoopedEdges looped = with_self_loops(block);
  const auto offsets = looped.edges->indptr().as<int64_t>();
  const auto sources = looped.edges->indices().as<int32_t>();
  const auto positions = looped.positions.as<int32_t>();
  CHECK(std::vector(offsets.begin(), offsets.end()) == std::vector<int64_t>{0, 3, 4, 5, 6});
  CHECK(std::vector(sources.begin(), sources.end()) == std::vector<int32_t>{1, 2, 0, 1, 2, 0});
  CHECK(std::vector(positions.begin(), positions.end()) ==
        std::vector<int32_t>{0, 2, -1, -1, -1, 5});
  CHECK(looped.edges->num_src() == 3);

  const std::vector<int64_t> own = {2, 1, 0, 2};
  const LoopedEdges by_name = with_self_loops(block, 2, own);
  const auto named = by_name.edges->indices().as<int32_t>();
  CHECK(std::vector(named.begin(), named.end()) == std::vector<int32_t>{1, 0, 2, 1, 2, 2, 0, 0, 2});
  CHECK_THROWS_WITH_AS(with_self_loops(block, 1, std::span(own).first(2)),
                       "own has 2 entries, expected 4", Error);

  for (const Edges& edges : attention_edges()) {
    const LoopedEdges with = with_self_loops(edges.block(), 4);
    CHECK_NOTHROW(with.edges->check());
    const auto counted = with.positions.as<int32_t>();
    CHECK(std::count(counted.begin(), counted.end(), -1) ==
          std::min(edges.num_dst(), edges.num_src));
  }
}

TEST_CASE("arrays that do not fit are refused by name, and damaged edges are not followed") {
  Edges edges(3, 4, [](int64_t) { return 2; });
  const BlockEdges block = edges.block();
  Values scores({6, 2}), out({6, 2}), short_scores({5, 2}), flat({6}), x({4, 8}), few({3, 8});
  Values sums({3, 2, 8});
  CHECK_THROWS_WITH_AS(edge_softmax(block, short_scores.array, out.array),
                       "scores is float64[5, 2], expected [6, heads]", Error);
  CHECK_THROWS_WITH_AS(edge_softmax(block, flat.array, out.array),
                       "scores is float64[6], expected [6, heads]", Error);
  CHECK_THROWS_WITH_AS(edge_softmax(block, scores.array, short_scores.array),
                       "out is float64[5, 2], expected float64[6, 2]", Error);
  CHECK_THROWS_WITH_AS(head_sums(block, few.array, scores.array, sums.array),
                       "x is float64[3, 8], expected float64[4, 8]", Error);
  CHECK_THROWS_WITH_AS(head_sums(block, x.array, scores.array, out.array),
                       "out is float64[6, 2], expected float64[3, 2, 8]", Error);
  Array sealed = out.array;
  sealed.writable = false;
  CHECK_THROWS_WITH_AS(edge_softmax(block, scores.array, sealed), "out is read-only", Error);
  Array halves = scores.array;
  halves.dtype = DType::kFloat16;
  CHECK_THROWS_WITH_AS(edge_softmax(block, halves, halves),
                       "scores is float16[6, 2], expected float32 or float64", Error);

  edges.indices[4] = 4;
  CHECK_THROWS_WITH_AS(head_sums(block, x.array, scores.array, sums.array),
                       "indices[4] is 4, outside [0, 4)", Error);
  edges.indices[4] = 0;
  edges.indptr[1] = -1;
  CHECK_THROWS_AS(edge_softmax(block, scores.array, out.array), Error);
  CHECK_THROWS_AS(with_self_loops(block), Error);
}
