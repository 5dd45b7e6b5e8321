// docs/semantics.md, section 9.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/dependent_lanes.h"
#include "base/draw_keys.h"
#include "base/lanes_scalar.h"
#include "ramet/random.h"
#include "support/each_isa.h"
#include "support/unabsorb.h"

using namespace ramet;

namespace {

// The slow, obvious twins: of the C library, in long double. More than 80 bits are software's.

constexpr size_t kCompared = std::numeric_limits<long double>::digits > 64 ? 10'000 : 300'000;

long double upper_tail(long double z) {
  return std::erfc(z / std::sqrt(2.0L)) / 2;
}

long double density(long double z) {
  return std::exp(-z * z / 2) / std::sqrt(8 * std::atan(1.0L));
}

// By bisection.
long double quantile(long double p) {
  long double low = 0, high = 12;
  for (int i = 0; i < 80; ++i) {
    const long double middle = (low + high) / 2;
    (upper_tail(middle) > p ? low : high) = middle;
  }
  return low;
}

double rounded(long double value) {
  int exponent = 0;
  const long double digits = std::frexp(value, &exponent);
  return static_cast<double>(std::ldexp(std::round(std::ldexp(digits, 32)), exponent - 32));
}

// `cubic` has these values and slopes at its ends.
bool joins(const double (&cubic)[4],
           long double from,
           long double to,
           long double slope_from,
           long double slope_to) {
  const double rise = rounded(to) - rounded(from);
  const double slope0 = rounded(slope_from), slope1 = rounded(slope_to);
  return cubic[0] == rounded(from) && cubic[1] == slope0 &&
         cubic[2] == 3 * rise - 2 * slope0 - slope1 && cubic[3] == slope0 + slope1 - 2 * rise;
}

double normal_of(uint64_t word) {
  return normal_of_word<Scalar>(word);
}

uint64_t word_of(double z) {
  return word_of_normal<Scalar>(z);
}

// In the unit of the result.
uint64_t rank_of(double z) {
  return word_of(z) >> 12;
}

// Random words, small and large ones of all sizes, and what is next to powers of two.
std::vector<uint64_t> words(size_t size) {
  std::vector<uint64_t> all{0, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1};
  for (int bit = 0; bit < 64; ++bit) {
    for (const int offset : {-2, -1, 0, 1, 2})
      all.push_back((uint64_t{1} << bit) + static_cast<uint64_t>(offset));
  }
  for (uint64_t i = 0; all.size() < size; ++i)
    all.push_back(mix64(i) >> (i % 4 == 0 ? i / 4 % 64 : 0) ^ (i % 8 == 0 ? ~uint64_t{0} : 0));
  return all;
}

}  // namespace

TEST_CASE("the cubics join the normal distribution's values and slopes, rounded to 32 bits") {
  if (std::numeric_limits<long double>::digits != 64) return;
  int wrong = 0;
  long double at_end = 0;
  for (int i = kQuantileOctaves * kQuantileParts - 1; i >= 0; --i) {
    const long double width = std::ldexp(1.0L, i / kQuantileParts - 54) / kQuantileParts;
    const long double at_begin = quantile(width * (kQuantileParts + i % kQuantileParts));
    wrong += !joins(kNormalQuantile.of[i], at_begin, at_end, -width / density(at_begin),
                    -width / density(at_end));
    at_end = at_begin;
  }
  CHECK(wrong == 0);
  for (int i = 0; i < kTailUnits * kTailParts; ++i) {
    const long double unit = 0x1p52L, width = 1.0L / kTailParts, z = i * width;
    wrong += !joins(kNormalTail.of[i], unit * upper_tail(z), unit * upper_tail(z + width),
                    -unit * width * density(z), -unit * width * density(z + width));
  }
  CHECK(wrong == 0);
}

TEST_CASE("the tables are the same bits with every compiler") {
  const auto digest = [](const auto& table) {
    uint64_t h = 0;
    for (const auto& cubic : table.of) {
      for (const double value : cubic)
        h = absorb(h, std::bit_cast<uint64_t>(value));
    }
    return h;
  };
  CHECK(digest(kNormalQuantile) == 10461955224004149401ULL);
  CHECK(digest(kNormalTail) == 11693186426184629238ULL);
}

TEST_CASE("a word's normal has the word as its upper tail") {
  double worst = 0, worst_relative = 0;
  for (const uint64_t word : words(kCompared)) {
    const bool upper = word < uint64_t{1} << 63;
    const uint64_t v = (upper ? word : ~word) >> 11;
    const long double p = std::ldexp(static_cast<long double>(v) + 0.5L, -53);
    const double z = normal_of(word);
    REQUIRE((z >= 0) == upper);
    const long double error = upper_tail(std::abs(z)) - p;
    worst = std::max(worst, static_cast<double>(std::abs(error / density(z))));
    worst_relative = std::max(worst_relative, static_cast<double>(std::abs(error / p)));
  }
  CHECK(worst < 1e-8);
  CHECK(worst_relative < 2e-8);
}

TEST_CASE("a normal's word is its upper tail") {
  double worst_relative = 0;
  for (uint64_t i = 0; i < kCompared; ++i) {
    const double z = static_cast<double>(mix64(i) >> 11) * 0x1p-53 * (i % 2 == 0 ? 12 : 3);
    const auto exact = static_cast<double>(std::ldexp(upper_tail(z), 52));
    const auto got = static_cast<double>(rank_of(z));
    // Half a unit is the rounding of the result.
    worst_relative = std::max(worst_relative, (std::abs(got - exact) - 0.5) / exact);
  }
  CHECK(worst_relative < 2e-8);
}

TEST_CASE("complements are symmetric") {
  for (const uint64_t word : words(10'000)) {
    REQUIRE(normal_of(~word) == -normal_of(word));
    const double z = normal_of(word) * 1.25;
    if (z != 0) REQUIRE(word_of(-z) == ~word_of(z));
  }
}

TEST_CASE("both maps are monotone, but for roundings") {
  std::vector<uint64_t> ascending = words(300'000);
  std::sort(ascending.begin(), ascending.end());
  for (size_t i = 1; i < ascending.size(); ++i) {
    const double before = normal_of(ascending[i - 1]), after = normal_of(ascending[i]);
    REQUIRE(after <= before + 4e-15);
    REQUIRE(rank_of(before) <= rank_of(after) + 2);
  }
  for (int i = 1; i < kTailUnits * kTailParts; ++i) {  // from cubic to cubic
    const double node = static_cast<double>(i) / kTailParts;
    REQUIRE(rank_of(std::nextafter(node, 0.0)) >= rank_of(node));
  }
}

TEST_CASE("every lanes type makes the same words") {
  constexpr size_t kCount = 8;  // the first has chosen words, the others those of the same keys
  std::array<int64_t, kCount> values;
  std::iota(values.begin(), values.end(), 0);
  std::array<uint32_t, kCount + kLaborPadding> all_values;
  std::array<uint64_t, kCount + kLaborPadding> out;
  const std::vector<uint64_t> all = words(1 << 16);
  const std::vector<LaborKernel> kernels = of_each_isa(&IsaKernels::labor);
  for (const Mixture& mixture : {mixture_of(1, 2), mixture_of(1, 8), mixture_of(63, 64)}) {
    int wrong = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const uint64_t next = all[mix64(i) % all.size()];
      const DrawKeys keys{unabsorb(all[i], 0), unabsorb(next, 0), mixture};
      for (const LaborKernel& kernel : kernels) {
        kernel(keys, ~uint64_t{0}, values.data(), kCount, all_values.data(), out.data());
        for (size_t v = 0; v < kCount; ++v)
          wrong += out[v] != draw_word(keys, v);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("a word that is as large as the bound is within it") {
  const int64_t value = 0;
  std::array<uint32_t, 1 + kLaborPadding> accepted;
  const std::vector<uint64_t> all = words(1 << 13);
  for (const Mixture& mixture : {mixture_of(1, 2), mixture_of(1, 64), mixture_of(1, 1ULL << 60)}) {
    int wrong = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      const uint64_t next = all[mix64(i) % all.size()];
      const DrawKeys keys{unabsorb(all[i], 0), unabsorb(next, 0), mixture};
      const uint64_t word = draw_word(keys, 0);
      for (const LaborKernel& kernel : of_each_isa(&IsaKernels::labor)) {
        wrong += kernel(keys, word, &value, 1, accepted.data()) != 1;
        if (word > 0) wrong += kernel(keys, word - 1, &value, 1, accepted.data()) != 0;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the weights turn by a right angle in a block") {
  CHECK(mixture_of(0, 8).plain);
  for (const uint64_t kappa : {1ULL, 2ULL, 3ULL, 8ULL, 1000ULL, 1ULL << 60}) {
    for (const uint64_t j : {uint64_t{1}, uint64_t{3}, kappa / 2, kappa / 2 + 1, kappa - 1}) {
      if (j == 0 || j >= kappa) continue;
      const Mixture mixture = mixture_of(j, kappa), mirrored = mixture_of(kappa - j, kappa);
      const double angle = std::acos(0.0) * static_cast<double>(j) / static_cast<double>(kappa);
      CHECK_FALSE(mixture.plain);
      CHECK(std::abs(mixture.cos - std::cos(angle)) < 3e-16);
      CHECK(std::abs(mixture.sin - std::sin(angle)) < 3e-16);
      if (2 * j != kappa) CHECK(mixture.cos == mirrored.sin);
    }
  }
}

TEST_CASE("keys are those of the step's block and of the next") {
  for (const uint64_t step : {0ULL, 1ULL, 7ULL, 8ULL, 123'456'789ULL}) {
    const DrawKeys plain = step_keys(1, 2, step, 1), dependent = step_keys(1, 2, step, 8);
    CHECK(plain.mixture.plain);
    CHECK(draw_word(node_keys(hop_keys(plain, 3, 4), 5), 6) ==
          absorb(node_key(hop_key(step_key(1, 2, step), 3, 4), 5), 6));
    CHECK(dependent.now == step_key(1, 2, step / 8));
    CHECK(dependent.next == step_key(1, 2, step / 8 + 1));
    CHECK(dependent.mixture.plain == (step % 8 == 0));
  }
}
