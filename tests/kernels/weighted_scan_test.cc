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

// Every third weight is 0, and the others are of very different sizes.
template <typename Weight>
std::vector<Weight> some_weights(int64_t count, double unit) {
  std::vector<Weight> weights(static_cast<size_t>(count));
  for (size_t i = 0; i < weights.size(); ++i) {
    const double size = minus_log(fraction_of(mix64(i))) * (i % 7 == 0 ? 50 : 1);
    weights[i] = static_cast<Weight>(i % 3 == 1 ? 0 : size * unit);
  }
  return weights;
}

template <typename Weight>
void check_numbers(const WeightedScan<Weight>& scan,
                   const DrawKeys& keys,
                   int64_t count,
                   double unit,
                   double bound) {
  const std::vector<Weight> weights = some_weights<Weight>(count, unit);
  alignas(64) Padded<uint64_t> stream = {};
  for (size_t i = 0; i < stream.size(); ++i)
    stream[i] = stream_of_value(3 * i);
  alignas(64) Padded<uint32_t> found = {};
  alignas(64) Padded<double> number = {};
  const int64_t size =
      scan.candidates(keys, stream.data(), weights.data(), count, bound, found.data());
  const int64_t within =
      scan.numbers(keys, stream.data(), weights.data(), found.data(), size, bound, number.data());
  int64_t position = 0, expected = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const auto weight = static_cast<double>(weights[i]);
    const double obvious = minus_log(fraction_of(draw_word(keys, 3 * i))) / weight;
    const bool is_within = weight > 0 && obvious <= bound;
    expected += is_within ? 1 : 0;
    const auto at = static_cast<size_t>(position);
    if (position < size && found[at] == i) {
      REQUIRE(weight > 0);
      REQUIRE(number[at] == obvious);
      ++position;
    } else {
      REQUIRE_FALSE(is_within);
    }
  }
  REQUIRE(position == size);
  REQUIRE(within == expected);
}

// Sums in the order of the edges, and what is no weight.
template <typename Weight>
void check_sums(const WeightedScan<Weight>& scan, const std::vector<Weight>& weights) {
  const auto count = static_cast<int64_t>(weights.size());
  for (const double before : {0.0, 0.3}) {
    std::vector<double> expected, running(weights.size() + kWeightedPadding);
    double sum = before;
    for (const Weight weight : weights)
      expected.push_back(sum += static_cast<double>(weight));
    REQUIRE(scan.running(weights.data(), count, before, running.data()) == sum);
    REQUIRE(std::equal(expected.begin(), expected.end(), running.begin()));
    CHECK(scan.sum(weights.data(), count) == doctest::Approx(sum - before).epsilon(1e-4));
  }
  std::vector<double> none = {-1.0, -1e-40, HUGE_VAL, std::nan("")};
  if (sizeof(Weight) == sizeof(double)) none.insert(none.end(), {1e-291, 1e291});
  for (const double value : none) {
    for (size_t bad = 0; bad < weights.size(); ++bad) {
      std::vector<Weight> wrong = weights;
      std::vector<double> running(weights.size() + kWeightedPadding);
      wrong[bad] = static_cast<Weight>(value);
      REQUIRE(std::isnan(scan.sum(wrong.data(), count)));
      REQUIRE(std::isnan(scan.running(wrong.data(), count, 0, running.data())));
    }
  }
}

}  // namespace

// docs/semantics.md, section 13.
TEST_CASE("every kernel finds the edges within a bound, and gives their numbers bit by bit") {
  for (const WeightedKernel& kernel : of_each_isa(&IsaKernels::weighted)) {
    for (int64_t count = 0; count <= kMost; ++count) {
      for (const DrawKeys& keys : {DrawKeys{mix64(9)}, DrawKeys{9, 10, mixture_of(3, 8)}}) {
        for (const double bound : {0.0, 0.3, 1.0, 20.0, std::numeric_limits<double>::max()}) {
          check_numbers(kernel.scan32, keys, count, 1, bound);
          check_numbers(kernel.scan64, keys, count, 1, bound);
        }
      }
    }
  }
}

// docs/semantics.md, section 13.
TEST_CASE("numbers of tiny and of huge weights are found, too") {
  for (const WeightedKernel& kernel : of_each_isa(&IsaKernels::weighted)) {
    for (const double bound : {0.01, 0.3, 20.0}) {
      for (const double unit : {1e-44, 1e-38, 1e-30, 1e30, 1e36})
        check_numbers(kernel.scan32, DrawKeys{mix64(5)}, kMost, unit, bound / unit);
      for (const double unit : {1e-288, 1e-250, 1e250, 1e287})
        check_numbers(kernel.scan64, DrawKeys{mix64(5)}, kMost, unit, bound / unit);
    }
  }
}

// docs/semantics.md, section 13. The sums of the first are exact, those of the second are not, and
// the third ends denormal.
TEST_CASE("running sums are those in order") {
  for (const WeightedKernel& kernel : of_each_isa(&IsaKernels::weighted)) {
    for (int64_t count = 1; count <= 40; ++count) {
      std::vector<float> weights = some_weights<float>(count, 1);
      check_sums(kernel.scan64, some_weights<double>(count, 1));
      check_sums(kernel.scan32, weights);
      weights[0] = 0x1.2p30F;
      check_sums(kernel.scan32, weights);
      check_sums(kernel.scan32, some_weights<float>(count, 1e-42));
    }
  }
}

// docs/semantics.md, section 13. Weights of a row, the largest of them, and their codes.
template <typename Weight>
void check_tries(const WeightedKernel& kernel, const std::vector<Weight>& weights) {
  const auto degree = static_cast<int64_t>(weights.size());
  const Weight largest = *std::max_element(weights.begin(), weights.end());
  std::vector<uint16_t> codes;
  for (const Weight weight : weights)
    codes.push_back(
        code_of_weight(static_cast<double>(weight), code_scale(static_cast<double>(largest))));
  const DrawKeys keys{mix64(degree)};
  for (const int64_t first : {0, 16, 48}) {
    SomeTries tries;
    kernel.tries(keys, degree, first, tries);
    std::vector<uint32_t> expected;
    for (int64_t t = 0; t < SomeTries::kCount; ++t) {
      const uint64_t word = draw_word(keys, kFirstTry + static_cast<uint64_t>(first + t));
      const auto product = static_cast<unsigned __int128>(word) * static_cast<uint64_t>(degree);
      const auto x = static_cast<uint32_t>(product >> 64);
      const double drawn = fraction_of(static_cast<uint64_t>(product));
      REQUIRE(tries.position[t] == x);
      if (drawn * static_cast<double>(largest) < static_cast<double>(weights[x]))
        expected.push_back(x);
    }
    for (const bool has_codes : {false, true}) {
      const TriedRow<Weight> row{weights.data(), has_codes ? codes.data() : nullptr,
                                 static_cast<double>(largest)};
      Padded<uint32_t> found;
      const int64_t size =
          kernel.scan(weights.data()).accepted(row, tries, SomeTries::kCount, found.data());
      REQUIRE(std::vector<uint32_t>(found.begin(), found.begin() + size) == expected);
    }
  }
}

TEST_CASE("tries are accepted by weights, and by codes no others") {
  for (const WeightedKernel& kernel : of_each_isa(&IsaKernels::weighted)) {
    for (int64_t degree = 1; degree <= kMost; ++degree) {
      check_tries(kernel, some_weights<float>(degree, 1));
      check_tries(kernel, some_weights<double>(degree, 1e-280));
    }
    check_tries(kernel, std::vector<float>{1, 0x1p-16F, 0x1.8p-16F, 0.5, 0x1.fffffep-1F});
  }
}

// docs/semantics.md, section 13.
TEST_CASE("a code never decides against a weight") {
  const double scale = code_scale(1);
  for (uint64_t high = 0; high < 1 << 16; high += 7) {
    for (const uint64_t low : {uint64_t{0}, uint64_t{1} << 40, (uint64_t{1} << 48) - 1}) {
      const double drawn = fraction_of(high << 48 | low);
      for (const double weight : {drawn, std::nextafter(drawn, 0), std::nextafter(drawn, 1)}) {
        const uint64_t code = code_of_weight(weight, scale);
        if (high + 2 <= code) REQUIRE(drawn < weight);
        if (high > code) REQUIRE_FALSE(drawn < weight);
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
