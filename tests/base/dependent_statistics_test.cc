// docs/semantics.md, section 9: the words of one draw of many nodes, over the steps of three
// blocks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/dependent_lanes.h"
#include "base/draw_keys.h"
#include "base/lanes_scalar.h"
#include "ramet/random.h"
#include "support/statistics.h"

using namespace ramet;

namespace {

constexpr uint64_t kKappa = 4, kSteps = 3 * kKappa;
constexpr size_t kNodes = 50'000;
constexpr double kBound = 1e-4;
constexpr double kPi = 3.14159265358979323846;

using Column = std::vector<double>;  // by node

uint64_t word(uint64_t step, size_t node) {
  const DrawKeys keys = hop_keys(step_keys(1, 0, step, kKappa), 2, 3);
  return draw_word(node_keys(keys, static_cast<int64_t>(node)), 0);
}

std::vector<Column> by_step(double (*value)(uint64_t word)) {
  std::vector<Column> columns(kSteps, Column(kNodes));
  for (uint64_t step = 0; step < kSteps; ++step) {
    for (size_t node = 0; node < kNodes; ++node)
      columns[step][node] = value(word(step, node));
  }
  return columns;
}

// Kolmogorov and Smirnov's test of values that should be uniform in [0, 1].
double uniform_p(Column values) {
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, (rank + 1) / n - values[i], values[i] - rank / n});
  }
  const double scaled = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * distance;
  double p = 0;
  for (int k = 1; k < 100; ++k)
    p += (k % 2 == 1 ? 2 : -2) * std::exp(-2 * k * k * scaled * scaled);
  return p;
}

double correlation(const Column& a, const Column& b) {
  double aa = 0, ab = 0, bb = 0;  // of means that are 0
  for (size_t i = 0; i < a.size(); ++i) {
    aa += a[i] * a[i];
    ab += a[i] * b[i];
    bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

double promised(uint64_t step, uint64_t later) {
  const auto angle = [](uint64_t j) {
    return kPi * static_cast<double>(j) / static_cast<double>(2 * kKappa);
  };
  const uint64_t blocks = later / kKappa - step / kKappa;
  if (blocks == 0) return std::cos(angle(later - step));
  return blocks == 1 ? std::sin(angle(step % kKappa)) * std::cos(angle(later % kKappa)) : 0;
}

}  // namespace

TEST_CASE("words are uniform in every step of a block") {
  const auto columns = by_step([](uint64_t w) { return static_cast<double>(w) * 0x1p-64; });
  for (const Column& column : columns)
    CHECK(uniform_p(column) > kBound);
}

TEST_CASE("normals of two steps have the correlation that their positions in the blocks say") {
  const auto columns = by_step([](uint64_t w) { return normal_of_word<Scalar>(w); });
  CHECK(promised(1, 1 + kKappa) == doctest::Approx(std::sin(kPi / kKappa) / 2));
  for (uint64_t step = 0; step < kSteps; ++step) {
    for (uint64_t later = step + 1; later < kSteps; ++later) {
      const double found = correlation(columns[step], columns[later]);
      // Fisher's transformation: a normal of variance 1 / (n - 3).
      const double z = (std::atanh(found) - std::atanh(promised(step, later))) *
                       std::sqrt(static_cast<double>(kNodes - 3));
      CHECK_MESSAGE(test::normal_p(z) > kBound, "steps ", step, " and ", later);
    }
  }
}

TEST_CASE("a sum of normals of two steps is normal: the steps are normal together") {
  const auto columns = by_step([](uint64_t w) { return normal_of_word<Scalar>(w); });
  for (const uint64_t step : {0, 1, 2, 3}) {
    for (const uint64_t later : {4, 5, 6}) {
      Column sum(kNodes);
      const double scale = std::sqrt(2 * (2 + 2 * promised(step, later)));
      for (size_t i = 0; i < kNodes; ++i)
        sum[i] = std::erfc((columns[step][i] + columns[later][i]) / scale) / 2;
      CHECK(uniform_p(sum) > kBound);
    }
  }
}

TEST_CASE("steps whose blocks are two apart have no key in common") {
  for (uint64_t step = 0; step < kSteps; ++step) {
    for (uint64_t later = (step / kKappa + 2) * kKappa; later < 2 * kSteps; ++later) {
      const DrawKeys a = step_keys(1, 0, step, kKappa), b = step_keys(1, 0, later, kKappa);
      CHECK((a.now != b.now && a.now != b.next && a.next != b.now && a.next != b.next));
    }
  }
}
