// The random function as sampling uses it (docs/semantics.md, section 2), under a battery of
// statistical tests; and bad generators under the same, to show that it finds them.
//
// Seeds are fixed, so the outcome never changes. The bound is such that a perfect generator would
// fail with a probability below 1e-6: about 160 p-values, each above 2e-9.
#include "random_battery.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "ramet/random.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr double kBatteryBound = 2e-9;
const uint64_t kEdges = hash_name("node__to__node");

void passes(const char* neighbours, const Streams& streams) {
  CAPTURE(neighbours);
  for (const auto& result : battery(streams)) {
    CAPTURE(result.first);
    CHECK(result.second > kBatteryBound);
  }
}

// The names of the tests that see that a generator is bad.
std::vector<std::string> failures(const Streams& streams) {
  std::vector<std::string> names;
  for (const auto& [test, p] : battery(streams)) {
    if (p <= kBatteryBound) names.push_back(test);
  }
  return names;
}

bool has_word(const std::vector<std::string>& names, const std::string& start) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.rfind(start, 0) == 0; });
}

uint64_t draw(uint64_t seed, uint64_t epoch, uint64_t step, uint64_t hop, uint64_t v, uint64_t t) {
  const uint64_t key = hop_key(step_key(seed, epoch, step), hop, kEdges);
  return absorb(node_key(key, static_cast<int64_t>(v)), t);
}

}  // namespace

TEST_CASE("battery: streams of neighbouring nodes, hops, steps, epochs and seeds") {
  passes("nodes", [](uint64_t i, uint64_t t) { return draw(1, 2, 3, 0, i, t); });
  passes("hops", [](uint64_t i, uint64_t t) { return draw(1, 2, 3, i, 4, t); });
  passes("steps", [](uint64_t i, uint64_t t) { return draw(1, 2, i, 0, 4, t); });
  passes("epochs", [](uint64_t i, uint64_t t) { return draw(1, i, 3, 0, 4, t); });
  passes("seeds", [](uint64_t i, uint64_t t) { return draw(i, 2, 3, 0, 4, t); });
}

TEST_CASE("battery: every bit of every absorbed word changes every bit of a draw in half of all") {
  constexpr int kTrials = kWords / 64;
  double chi2 = 0, worst = 0;
  for (size_t word = 0; word < 6; ++word) {
    for (int flip = 0; flip < 64; ++flip) {
      std::array<int, 64> changed{};
      for (uint64_t i = 0; i < kTrials; ++i) {
        std::array<uint64_t, 6> w;
        for (size_t j = 0; j < 6; ++j)
          w[j] = j == word ? absorb(i, j) : absorb(i, j) % 64;  // small, as in use
        const uint64_t before = draw(w[0], w[1], w[2], w[3], w[4], w[5]);
        w[word] ^= uint64_t{1} << flip;
        const uint64_t difference = before ^ draw(w[0], w[1], w[2], w[3], w[4], w[5]);
        for (size_t bit = 0; bit < 64; ++bit)
          changed[bit] += static_cast<int>((difference >> bit) & 1);
      }
      for (const int count : changed) {
        const double z = (count - kTrials / 2.0) / std::sqrt(kTrials / 4.0);
        chi2 += z * z;
        worst = std::max(worst, std::abs(z));
      }
    }
  }
  CHECK(chi2_p(chi2, 6 * 64 * 64) > kBatteryBound);
  CHECK(6 * 64 * 64 * normal_p(worst) > kBatteryBound);
}

TEST_CASE("battery: finds a linear congruential generator") {
  const auto found = failures([](uint64_t stream, uint64_t t) {
    uint64_t state = stream;  // its t-th state, t < 2^20 in one stream: computed by jumping
    uint64_t multiplier = 6364136223846793005ULL, increment = 1442695040888963407ULL;
    for (; t > 0; t >>= 1) {
      if (t & 1) state = state * multiplier + increment;
      increment *= multiplier + 1;
      multiplier *= multiplier;
    }
    return state;
  });
  CHECK(has_word(found, "bytes"));
  CHECK(has_word(found, "below"));
  CHECK(has_word(found, "birthdays"));
  CHECK(has_word(found, "gaps"));
  CHECK(has_word(found, "pairs 0"));
  CHECK(has_word(found, "pairs of streams"));
  CHECK(has_word(found, "neighbours"));
}

TEST_CASE("battery: finds streams that are good alone and alike in neighbouring keys") {
  const auto found = failures(
      [](uint64_t stream, uint64_t t) { return mix64(kGolden * (t + 1)) + (stream << 50); });
  CHECK_FALSE(has_word(found, "bytes along"));
  CHECK(has_word(found, "pairs of streams"));
  CHECK(has_word(found, "neighbours"));
}

TEST_CASE("battery: finds keys that overlap: stream s + 1 is stream s, one draw later") {
  const auto found = failures([](uint64_t stream, uint64_t t) { return absorb(5, stream + t); });
  CHECK(has_word(found, "birthdays"));
}

TEST_CASE("battery: finds 16 bits taken modulo n") {
  const auto found = failures([](uint64_t stream, uint64_t t) {
    // The word whose uniform_below(40'000) is 16 random bits modulo 40'000.
    const uint64_t value = (absorb(absorb(7, stream), t) >> 48) % 40'000;
    return static_cast<uint64_t>((uint128_t{value} << 64) / 40'000) + 1;
  });
  CHECK(has_word(found, "below 40000"));
  CHECK(has_word(found, "below 2 "));
}

TEST_CASE("p-values of chi-square are those of the tables") {
  CHECK(chi2_p(3.841, 1) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(chi2_p(18.307, 10) == doctest::Approx(0.05).epsilon(1e-3));
  CHECK(chi2_p(2.558, 10) == doctest::Approx(0.99).epsilon(1e-3));
  CHECK(chi2_p(149.449, 100) == doctest::Approx(0.001).epsilon(1e-3));
  CHECK(normal_p(1.959964) == doctest::Approx(0.05).epsilon(1e-5));
}
