// Attention over the edges of blocks against slow twins, for any number of threads; and arrays that
// do not fit. The kernels' bits are in tests/kernels/attention_kernels_test.cc.
#include "ramet/attention.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "aggregation_cases.h"
#include "ramet/error.h"
#include "support/values.h"

using namespace ramet;

namespace {

constexpr uint64_t kZeros = ~uint64_t{0};

struct Values {
  std::vector<double> values;
  Array array;

  explicit Values(std::vector<int64_t> shape, uint64_t key = 0) {
    array = {nullptr, DType::kFloat64, std::move(shape), nullptr, true};
    values = test::drawn_values<double>(size() + 1, key);  // so that there is always an address
    if (key == kZeros) std::fill(values.begin(), values.end(), 0);
    array.data = values.data();
  }
  Values(const Values&) = delete;
  double operator[](int64_t i) const { return values[static_cast<size_t>(i)]; }
  double& operator[](int64_t i) { return values[static_cast<size_t>(i)]; }
  [[nodiscard]] int64_t size() const { return array.bytes() / 8; }
};

std::vector<Edges> attention_edges() {
  std::vector<Edges> all = all_edges();
  all.emplace_back(3000, 4000, [](int64_t d) { return d % 12; });
  return all;
}

void check_near(const Values& actual, const Values& expected) {
  REQUIRE(actual.size() == expected.size());
  for (int64_t i = 0; i < actual.size(); ++i)
    REQUIRE(actual[i] == doctest::Approx(expected[i]).epsilon(1e-12).scale(1));
}

constexpr int64_t kHeads = 3;

void softmax_by_definition(const Edges& edges, const Values& scores, Values& out) {
  Values sums({edges.num_dst(), kHeads}, kZeros);
  edges.visit([&](int64_t d, int64_t e, int64_t) {
    for (int64_t h = 0; h < kHeads; ++h)
      sums[d * kHeads + h] += std::exp(scores[e * kHeads + h]);
  });
  edges.visit([&](int64_t d, int64_t e, int64_t) {
    for (int64_t h = 0; h < kHeads; ++h)
      out[e * kHeads + h] = std::exp(scores[e * kHeads + h]) / sums[d * kHeads + h];
  });
}

}  // namespace

TEST_CASE("softmax over edges, and its gradient") {
  for (const Edges& edges : attention_edges()) {
    const std::vector<int64_t> shape = {edges.num_edges(), kHeads};
    const BlockEdges block = edges.block();
    const Values scores(shape, 1), grad(shape, 2);
    Values expected(shape), softmax(shape), back(shape), sums({edges.num_dst(), kHeads}, kZeros);
    softmax_by_definition(edges, scores, expected);
    for (const int threads : {1, 3}) {
      edge_softmax(block, scores.array, softmax.array, threads);
      check_near(softmax, expected);
    }
    edges.visit([&](int64_t d, int64_t e, int64_t) {
      for (int64_t i = e * kHeads; i < (e + 1) * kHeads; ++i)
        sums[d * kHeads + i % kHeads] += softmax[i] * grad[i];
    });
    edges.visit([&](int64_t d, int64_t e, int64_t) {
      for (int64_t i = e * kHeads; i < (e + 1) * kHeads; ++i)
        expected[i] = softmax[i] * (grad[i] - sums[d * kHeads + i % kHeads]);
    });
    edge_softmax_back(block, softmax.array, grad.array, back.array);
    check_near(back, expected);
  }
}

TEST_CASE("GAT's softmax is that of its scores, and so are the gradients") {
  constexpr double kSlope = 0.3;
  for (const Edges& edges : attention_edges()) {
    for (const bool has_edge_scores : {false, true}) {
      const std::vector<int64_t> shape = {edges.num_edges(), kHeads};
      const BlockEdges block = edges.block();
      const Values source({edges.num_src, kHeads}, 1), destination({edges.num_dst(), kHeads}, 2);
      const Values edge(shape, 3), grad(shape, 4);
      const GatScores gat{source.array, destination.array, has_edge_scores ? edge.array : Array{},
                          kSlope};
      Values inputs(shape), scores(shape), expected(shape), softmax(shape), back(shape);
      Values of_destination({edges.num_dst(), kHeads}),
          expected_sum({edges.num_dst(), kHeads}, kZeros);
      edges.visit([&](int64_t d, int64_t e, int64_t s) {
        for (int64_t h = 0; h < kHeads; ++h) {
          const int64_t i = e * kHeads + h;
          inputs[i] = source[s * kHeads + h] + destination[d * kHeads + h] +
                      (has_edge_scores ? edge[i] : 0);
          scores[i] = inputs[i] > 0 ? inputs[i] : kSlope * inputs[i];
        }
      });
      softmax_by_definition(edges, scores, expected);
      gat_softmax(block, gat, softmax.array, 2);
      check_near(softmax, expected);

      edge_softmax_back(block, softmax.array, grad.array, expected.array);
      edges.visit([&](int64_t d, int64_t e, int64_t) {
        for (int64_t i = e * kHeads; i < (e + 1) * kHeads; ++i) {
          expected[i] *= inputs[i] > 0 ? 1 : kSlope;
          expected_sum[d * kHeads + i % kHeads] += expected[i];
        }
      });
      gat_softmax_back(block, gat, softmax.array, grad.array, back.array, of_destination.array, 2);
      check_near(back, expected);
      check_near(of_destination, expected_sum);

      Values at_sources({edges.num_src, kHeads}),
          expected_at_sources({edges.num_src, kHeads}, kZeros);
      edges.visit([&](int64_t, int64_t e, int64_t s) {
        for (int64_t h = 0; h < kHeads; ++h)
          expected_at_sources[s * kHeads + h] += back[e * kHeads + h];
      });
      sum_at_sources(block, back.array, at_sources.array, 2);
      check_near(at_sources, expected_at_sources);
    }
  }
}

TEST_CASE("sums by head and their gradients have the same bits for any threads") {
  constexpr int64_t kWidth = 19;
  for (const Edges& edges : attention_edges()) {
    const BlockEdges block = edges.block();
    const Values x({edges.num_src + 2, kWidth}, 1), weights({edges.num_edges(), kHeads}, 2);
    const Values grad({edges.num_dst(), kHeads, kWidth}, 3);
    Values sums({edges.num_dst(), kHeads, kWidth}),
        expected({edges.num_dst(), kHeads, kWidth}, kZeros);
    Values back({edges.num_src, kWidth}), expected_back({edges.num_src, kWidth}, kZeros);
    Values dots({edges.num_edges(), kHeads}), expected_dots({edges.num_edges(), kHeads});
    edges.visit([&](int64_t d, int64_t e, int64_t s) {
      for (int64_t h = 0; h < kHeads; ++h) {
        double dot = 0;
        for (int64_t c = 0; c < kWidth; ++c) {
          const double weight = weights[e * kHeads + h];
          const int64_t at = (d * kHeads + h) * kWidth + c;
          expected[at] += weight * x[s * kWidth + c];
          expected_back[s * kWidth + c] += weight * grad[at];
          dot += grad[at] * x[s * kWidth + c];
        }
        expected_dots[e * kHeads + h] = dot;
      }
    });
    std::vector<double> first;
    for (const int threads : {1, 2, 8}) {
      head_sums(block, x.array, weights.array, sums.array, threads);
      head_sums_back(block, grad.array, weights.array, back.array, threads);
      head_dots(block, grad.array, x.array, dots.array, threads);
      check_near(sums, expected);
      check_near(back, expected_back);
      check_near(dots, expected_dots);
      std::vector<double> all = sums.values;
      all.insert(all.end(), back.values.begin(), back.values.end());
      all.insert(all.end(), dots.values.begin(), dots.values.end());
      if (first.empty()) first = all;
      CHECK(all == first);
    }
  }
}

TEST_CASE("the gradient of GATv2's att is a sum over all edges, the same for any threads") {
  constexpr int64_t kWidth = 5, kRow = kHeads * kWidth;
  for (const Edges& edges : attention_edges()) {
    const BlockEdges block = edges.block();
    const Values source({edges.num_src, kHeads, kWidth}, 1),
        edge({edges.num_edges(), kHeads, kWidth}, 2);
    const Values destination({edges.num_dst(), kHeads, kWidth}, 3), att({kHeads, kWidth}, 4);
    const Values grad({edges.num_edges(), kHeads}, 5);
    const Gatv2Scores scores{source.array, destination.array, att.array, edge.array, 0.2};
    Values expected({kHeads, kWidth}, kZeros), actual({kHeads, kWidth}), first({kHeads, kWidth});
    edges.visit([&](int64_t d, int64_t e, int64_t s) {
      for (int64_t i = 0; i < kRow; ++i) {
        const double input = source[s * kRow + i] + destination[d * kRow + i] + edge[e * kRow + i];
        expected[i] += grad[e * kHeads + i / kWidth] * (input > 0 ? input : 0.2 * input);
      }
    });
    for (const int threads : {1, 2, 8}) {
      Gatv2Scores out;
      out.att = actual.array;
      gatv2_scores_back(block, scores, grad.array, out, threads);
      check_near(actual, expected);
      if (threads == 1) first.values = actual.values;
      CHECK(actual.values == first.values);
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
