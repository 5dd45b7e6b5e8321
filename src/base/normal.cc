// The tables are computed by the compiler, in double arithmetic that is good to some 1e-15: the
// density by the exponential series, Q by its series about 0 and, from 2, by Laplace's continued
// fraction, Q's inverse by Newton's method with the second derivative, from node to node.
#include "base/normal.h"

#include <bit>
#include <cstdint>

namespace ramet {
namespace {

constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<uint64_t>(1023 + exponent) << 52);
}

// exp(-x), x >= 0: x = n ln 2 + r, where n times the high part of ln 2 is exact.
constexpr double exp_of_minus(double x) {
  constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
  const int n = static_cast<int>(x / kLn2High + 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1;
  for (int i = 18; i > 0; --i)
    sum = 1 - r / i * sum;
  return sum * power_of_two(-n);
}

constexpr double density(double z) {
  constexpr double kRootOfTwoPi = 0x1.40d931ff62706p+1;
  return exp_of_minus(z * z / 2) / kRootOfTwoPi;
}

constexpr double upper_tail(double z) {
  if (z < 2) {
    double sum = 1;  // z + z^3 / 3 + z^5 / (3 * 5) + ..., over z
    for (int i = 61; i > 1; i -= 2)
      sum = 1 + z * z / i * sum;
    return 0.5 - density(z) * z * sum;
  }
  double fraction = z;  // z + 1 / (z + 2 / (z + 3 / ...))
  for (int i = 80; i > 0; --i)
    fraction = z + i / fraction;
  return density(z) / fraction;
}

// z with upper_tail(z) = p; `z` is near.
constexpr double quantile_near(double z, double p) {
  for (int i = 0; i < 3; ++i) {
    const double step = (upper_tail(z) - p) / density(z);
    z += step * (1 + z * step / 2);
  }
  return z;
}

constexpr double rounded(double value) {
  constexpr int kDropped = 53 - 32;
  const uint64_t up = std::bit_cast<uint64_t>(value) + (uint64_t{1} << (kDropped - 1));
  return std::bit_cast<double>(up >> kDropped << kDropped);
}

// Of the function itself; slopes are per cubic.
struct Node {
  double value, slope;
};

constexpr void fit(const Node& from, const Node& to, double (&cubic)[4]) {
  const double rise = rounded(to.value) - rounded(from.value);
  const double slope0 = rounded(from.slope), slope1 = rounded(to.slope);
  cubic[0] = rounded(from.value);
  cubic[1] = slope0;
  cubic[2] = 3 * rise - 2 * slope0 - slope1;
  cubic[3] = slope0 + slope1 - 2 * rise;
}

constexpr auto make_quantile() {
  CubicTable<kQuantileOctaves * kQuantileParts> table = {};
  double at_end = 0;  // of p = 1/2, where it begins
  for (int i = kQuantileOctaves * kQuantileParts - 1; i >= 0; --i) {
    const int octave = i / kQuantileParts, part = i % kQuantileParts;
    const double width = power_of_two(octave - 54) / kQuantileParts;
    const double at_begin = quantile_near(at_end, width * (kQuantileParts + part));
    fit({at_begin, -width / density(at_begin)}, {at_end, -width / density(at_end)}, table.of[i]);
    at_end = at_begin;
  }
  return table;
}

constexpr auto make_tail() {
  CubicTable<kTailUnits * kTailParts> table = {};
  const auto node = [](int i) {
    constexpr double kUnit = 0x1p52, kWidth = 1.0 / kTailParts;
    const double z = i * kWidth;
    return Node{kUnit * upper_tail(z), -kUnit * kWidth * density(z)};
  };
  for (int i = 0; i < kTailUnits * kTailParts; ++i)
    fit(node(i), node(i + 1), table.of[i]);
  return table;
}

}  // namespace

constinit const CubicTable<kQuantileOctaves * kQuantileParts> kNormalQuantile = make_quantile();
constinit const CubicTable<kTailUnits * kTailParts> kNormalTail = make_tail();

}  // namespace ramet
