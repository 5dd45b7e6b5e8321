#include "kernels/cpu/weighted_scan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ramet/random.h"
#include "sampling/weights.h"
#include "support/each_isa.h"

using namespace ramet;

namespace {

constexpr int64_t kMost = 100;
template <typename T>
using Padded = std::array<T, kMost + kWeightedPadding>;

struct Edges {
  alignas(64) Padded<double> weight = {};
  Padded<int64_t> x = {};
};

// Every third weight is 0, and the others are of very different sizes.
Edges some_edges(int64_t count, uint64_t key) {
  Edges edges;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    edges.x[i] = static_cast<int64_t>(absorb(key, i) >> 30);
    if (i % 3 != 1)
      edges.weight[i] = minus_log(fraction_of(absorb(key, i))) * (i % 7 == 0 ? 50 : 1);
  }
  return edges;
}

}  // namespace

// docs/semantics.md, section 13.
TEST_CASE("every kernel finds the edges within a bound, and gives their numbers bit by bit") {
  for (const WeightedKernel& kernel : of_each_isa(&IsaKernels::weighted)) {
    for (int64_t count = 0; count <= kMost; ++count) {
      const Edges edges = some_edges(count, static_cast<uint64_t>(count));
      for (const DrawKeys& keys : {DrawKeys{mix64(9)}, DrawKeys{9, 10, mixture_of(3, 8)}}) {
        for (const double bound : {0.0, 0.3, 1.0, 20.0, std::numeric_limits<double>::max()}) {
          alignas(64) Padded<uint64_t> word = {};
          alignas(64) Padded<uint32_t> found = {};
          alignas(64) Padded<double> number = {};
          const int64_t size = kernel.candidates(keys, edges.x.data(), edges.weight.data(), count,
                                                 bound, word.data(), found.data());
          const int64_t within = kernel.numbers(word.data(), edges.weight.data(), found.data(),
                                                size, bound, number.data());
          int64_t position = 0, expected = 0;
          for (uint32_t i = 0; i < count; ++i) {
            const uint64_t of_edge = draw_word(keys, static_cast<uint64_t>(edges.x[i]));
            const double obvious = minus_log(fraction_of(of_edge)) / edges.weight[i];
            const bool is_within = edges.weight[i] > 0 && obvious <= bound;
            expected += is_within ? 1 : 0;
            const auto at = static_cast<size_t>(position);
            if (position < size && found[at] == i) {
              REQUIRE(edges.weight[i] > 0);
              REQUIRE(number[at] == obvious);
              ++position;
            } else {
              REQUIRE_FALSE(is_within);
            }
          }
          REQUIRE(position == size);
          REQUIRE(within == expected);
        }
      }
    }
  }
}

TEST_CASE("the logarithm is right at both ends and where its exponent changes") {
  const double root = 0x1.6a09e667f3bcdp-1;
  for (const double u : {0x1p-53, 0.25, root / 2, root, std::nextafter(root, 0), 1 - 0x1p-53})
    CHECK(std::abs(minus_log(u) + std::log(u)) <= -0x1p-50 * std::log(u));
}

TEST_CASE("the smallest numbers are kept, and all equal ones at the end") {
  for (const WeightedKernel& kernel : of_each_isa(&IsaKernels::weighted)) {
    for (int64_t count = 1; count <= kMost; ++count) {
      for (const int64_t k : {int64_t{1}, count / 2 + 1, count, count + 3}) {
        alignas(64) Padded<double> number = {};
        alignas(64) Padded<uint32_t> found = {};
        std::vector<uint32_t> expected;
        for (uint32_t i = 0; i < count; ++i) {
          number[i] = static_cast<double>(mix64(i + 100) % 60);
          found[i] = 3 * i;
        }
        for (uint32_t i = 0; i < count; ++i) {
          const double own = number[i];
          const auto is_less = [own](double other) { return other < own; };
          if (std::count_if(number.begin(), number.begin() + count, is_less) < k)
            expected.push_back(3 * i);
        }
        const int64_t size = kernel.smallest(number.data(), count, k, found.data());
        REQUIRE(std::vector<uint32_t>(found.begin(), found.begin() + size) == expected);
      }
    }
  }
}

TEST_CASE("weights are summed, and what is none is seen at every position") {
  for (const WeightedKernel& kernel : of_each_isa(&IsaKernels::weighted)) {
    for (size_t count = 1; count <= 40; ++count) {
      std::vector<float> weights(count);
      double sum = 0;
      for (size_t i = 0; i < count; ++i)
        sum += weights[i] = static_cast<float>(i % 5);
      alignas(64) Padded<double> out;
      const auto size = static_cast<int64_t>(count);
      REQUIRE(kernel.load(weights.data(), size, out.data()) == sum);
      REQUIRE(std::equal(weights.begin(), weights.end(), out.begin()));
      for (size_t bad = 0; bad < count; ++bad) {
        std::vector<double> wrong(weights.begin(), weights.end());
        for (const double value : {-1.0, 1e-291, 1e291, std::nan("")}) {
          wrong[bad] = value;
          REQUIRE(std::isnan(kernel.load(wrong.data(), size, out.data())));
        }
      }
    }
  }
}
