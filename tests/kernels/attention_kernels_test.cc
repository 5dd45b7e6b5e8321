// The loops of attention in every instruction set against arithmetic, an element at a time: the
// same bits. docs/semantics.md, section 21.
#include "kernels/cpu/attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "ramet/random.h"
#include "support/each_isa.h"
#include "support/values.h"

using namespace ramet;
using ramet::test::drawn_values;

namespace {

constexpr int64_t kNodes = 5, kEnds = 7, kEdges = 40;

// Nodes of 0, 1, 6, 0 and 33 edges, to ends at random; values of edges lie in reverse order.
struct Lists {
  std::vector<int64_t> offsets = {0, 0, 1, 7, 7, kEdges};
  std::vector<int32_t> ends, positions;

  Lists() {
    for (int32_t e = 0; e < kEdges; ++e) {
      ends.push_back(static_cast<int32_t>(absorb(1, static_cast<uint64_t>(e)) % kEnds));
      positions.push_back(static_cast<int32_t>(kEdges) - 1 - e);
    }
  }
  [[nodiscard]] EdgeLists in_place() const { return {offsets.data(), ends.data(), nullptr}; }
  [[nodiscard]] EdgeLists elsewhere() const {
    return {offsets.data(), ends.data(), positions.data()};
  }
};

struct Shape {
  int64_t heads, width;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const int64_t heads : {1, 3, 4, 6})
    for (const int64_t width : {1, 7, 16, 33, 64})
      all.push_back({heads, width});
  return all;
}

float fold(std::vector<float> parts) {
  for (size_t half = 8; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      parts[i] += parts[i + half];
  return parts[0];
}

// body(node, edge) in order
template <typename Body>
void for_each_edge(const EdgeLists& edges, const Body& body) {
  for (int64_t node = 0; node < kNodes; ++node)
    for (int64_t e = edges.offsets[node]; e < edges.offsets[node + 1]; ++e)
      body(node, e);
}

struct Gatv2Data {
  explicit Gatv2Data(const Shape& s, bool has_edges)
      : nodes(drawn_values(kNodes * s.heads * s.width, 1)),
        ends(drawn_values(kEnds * s.heads * s.width, 2)),
        edge(drawn_values(kEdges * s.heads * s.width, 3)),
        att(drawn_values(s.heads * s.width, 4)),
        grad(drawn_values(kEdges * s.heads, 5)) {
    args = {.heads = s.heads,
            .width = s.width,
            .edge = has_edges ? edge.data() : nullptr,
            .att = att.data(),
            .grad_scores = grad.data(),
            .slope = 0.2F};
  }

  // Of element i of a row.
  [[nodiscard]] float input(int64_t node, int64_t end, int64_t e, int64_t i) const {
    const int64_t row = args.heads * args.width;
    const float sum = nodes[size_t(node * row + i)] + ends[size_t(end * row + i)];
    return args.edge == nullptr ? sum : sum + args.edge[e * row + i];
  }
  [[nodiscard]] float leaky(float v) const { return v > 0 ? v : args.slope * v; }
  [[nodiscard]] float step(int64_t node, int64_t end, int64_t e, int64_t i) const {
    const float grad_input = grad[size_t(e * args.heads + i / args.width)] * att[size_t(i)];
    return input(node, end, e, i) > 0 ? grad_input : args.slope * grad_input;
  }

  std::vector<float> nodes, ends, edge, att, grad;
  Gatv2Args<float> args;
};

}  // namespace

TEST_CASE(
    "exponentials are within two units in the last place, the same in every instruction set") {
  std::vector<float> inputs = {
      0, -0.0F, -1e-30F, -87.3F, -87.4F, -200, -std::numeric_limits<float>::infinity()};
  for (const float v : drawn_values(5000, 1))
    inputs.push_back(v > 0 ? -v : 80 * v);
  std::vector<float> portable = inputs;
  attention_portable().exp(portable.data(), std::ssize(portable));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double exact = std::exp(static_cast<double>(inputs[i]));
    CAPTURE(inputs[i]);
    if (inputs[i] < -87.35F)
      REQUIRE(portable[i] == 0);
    else
      REQUIRE(std::abs(portable[i] - exact) <= 0x1p-22 * exact);
  }
  CHECK(portable[0] == 1);
  for (const auto& kernels : of_each_isa(&IsaKernels::attention)) {
    std::vector<float> values = inputs;
    kernels.exp(values.data(), std::ssize(values));
    CHECK(values == portable);
    float nan = std::numeric_limits<float>::quiet_NaN();
    kernels.exp(&nan, 1);
    CHECK(std::isnan(nan));
  }
  std::vector<double> doubles(inputs.begin(), inputs.end());
  attention_kernels<double>().exp(doubles.data(), std::ssize(doubles));
  for (size_t i = 0; i < inputs.size(); ++i)
    REQUIRE(doubles[i] == doctest::Approx(std::exp(static_cast<double>(inputs[i]))).epsilon(1e-15));
}

TEST_CASE("sums by head, their pulls and dots are those of the definition") {
  const Lists lists;
  for (const auto& kernels : of_each_isa(&IsaKernels::attention)) {
    for (const Shape& shape : shapes()) {
      const int64_t heads = shape.heads, width = shape.width;
      CAPTURE(heads);
      CAPTURE(width);
      const auto rows = drawn_values(kEnds * width, 1), weights = drawn_values(kEdges * heads, 2);
      const auto wide = drawn_values(kEnds * heads * width, 3);
      HeadArgs<float> args{.edges = lists.in_place(),
                           .heads = heads,
                           .width = width,
                           .rows = rows.data(),
                           .weights = weights.data(),
                           .wide = wide.data()};

      std::vector<float> expected(size_t(kNodes * heads * width)), actual(expected);
      for_each_edge(args.edges, [&](int64_t node, int64_t e) {
        for (int64_t i = 0; i < args.heads * args.width; ++i)
          expected[size_t(node * args.heads * args.width + i)] +=
              args.weights[e * args.heads + i / args.width] *
              args.rows[args.edges.ends[e] * args.width + i % args.width];
      });
      args.out = actual.data();
      kernels.sums(args, 0, kNodes);
      REQUIRE(actual == expected);

      args.edges = lists.elsewhere();
      expected.assign(size_t(kNodes * width), 0);
      actual.assign(expected.size(), 9);
      for_each_edge(args.edges, [&](int64_t node, int64_t e) {
        for (int64_t i = 0; i < args.heads * args.width; ++i)
          expected[size_t(node * args.width + i % args.width)] +=
              args.weights[args.edges.positions[e] * args.heads + i / args.width] *
              args.wide[args.edges.ends[e] * args.heads * args.width + i];
      });
      args.out = actual.data();
      kernels.pull(args, 0, kNodes);
      REQUIRE(actual == expected);

      args.edges = lists.in_place();
      expected.assign(size_t(kEdges * heads), 0);
      actual.assign(expected.size(), 9);
      for_each_edge(args.edges, [&](int64_t node, int64_t e) {
        for (int64_t h = 0; h < args.heads; ++h) {
          std::vector<float> parts(16, 0);
          for (int64_t c = 0; c < args.width; ++c)
            parts[size_t(c % 16)] += args.wide[(node * args.heads + h) * args.width + c] *
                                     args.rows[args.edges.ends[e] * args.width + c];
          expected[size_t(e * args.heads + h)] = fold(parts);
        }
      });
      args.out = actual.data();
      kernels.dots(args, 0, kNodes);
      REQUIRE(actual == expected);
    }
  }
}

TEST_CASE("scores of GATv2 and their gradients are those of the definition") {
  const Lists lists;
  for (const auto& kernels : of_each_isa(&IsaKernels::attention)) {
    for (const Shape& shape : shapes()) {
      for (const bool has_edges : {false, true}) {
        CAPTURE(shape.heads);
        CAPTURE(shape.width);
        const int64_t row = shape.heads * shape.width;
        Gatv2Data data(shape, has_edges);
        Gatv2Args<float> args = data.args;
        args.edges = lists.in_place();
        args.source = data.ends.data(), args.destination = data.nodes.data();

        std::vector<float> scores(size_t(kEdges * shape.heads)), actual(scores);
        std::vector<float> out(data.nodes.size(), 0), edge(data.edge.size()), att(data.att);
        std::vector<float> actual_out(out), actual_edge(edge), actual_att(att);
        for_each_edge(args.edges, [&](int64_t node, int64_t e) {
          for (int64_t h = 0; h < args.heads; ++h) {
            std::vector<float> parts(16, 0);
            for (int64_t c = 0; c < args.width; ++c)
              parts[size_t(c % 16)] +=
                  args.att[h * args.width + c] *
                  data.leaky(data.input(node, args.edges.ends[e], e, h * args.width + c));
            scores[size_t(e * args.heads + h)] = fold(parts);
          }
        });
        args.out = actual.data();
        kernels.scores(args, 0, kNodes);
        REQUIRE(actual == scores);

        for (int64_t node = 0; node < kNodes; ++node) {
          for (int64_t i = 0; i < row; ++i) {
            float att_sum = 0;
            for (int64_t e = lists.offsets[size_t(node)]; e < lists.offsets[size_t(node) + 1];
                 ++e) {
              const int64_t end = lists.ends[size_t(e)];
              const float step = data.step(node, end, e, i);
              out[size_t(node * row + i)] += step;
              edge[size_t(e * row + i)] = step;
              att_sum += data.grad[size_t(e * shape.heads + i / shape.width)] *
                         data.leaky(data.input(node, end, e, i));
            }
            att[size_t(i)] += att_sum;
          }
        }
        args.out = actual_out.data();
        args.grad_edge = actual_edge.data();
        args.grad_att = actual_att.data();
        kernels.push_scores(args, 0, kNodes);
        REQUIRE(actual_out == out);
        REQUIRE(actual_edge == edge);
        REQUIRE(actual_att == att);

        args.edges = lists.elsewhere();
        args.source = data.nodes.data(), args.destination = data.ends.data();
        out.assign(out.size(), 0);
        for_each_edge(args.edges, [&](int64_t node, int64_t e) {
          for (int64_t i = 0; i < row; ++i)
            out[size_t(node * row + i)] +=
                data.step(node, args.edges.ends[e], args.edges.positions[e], i);
        });
        kernels.pull_scores(args, 0, kNodes);
        REQUIRE(actual_out == out);
      }
    }
  }
}
