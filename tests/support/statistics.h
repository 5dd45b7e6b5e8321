// Goodness-of-fit statistics for tests: chi-square and its p-value.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace ramet::test {

// Q(a, x), the regularized upper incomplete gamma function: by its series below x = a + 1, by its
// continued fraction (modified Lentz) above (Abramowitz, Stegun, 6.5.29 and 6.5.31).
inline double upper_gamma(double a, double x) {
  if (x <= 0) return 1;
  const double scale = std::exp(-x + a * std::log(x) - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (double n = a + 1; term > sum * 1e-16; ++n)
      sum += term *= x / n;
    return 1 - sum * scale;
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d;
  for (int i = 1; i < 100'000; ++i) {
    const double an = i * (a - i);
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    h *= c * d;
    if (std::abs(c * d - 1) < 1e-15) break;
  }
  return scale * h;
}

// The probability of a chi-square statistic above `chi2`.
inline double chi2_p(double chi2, double degrees) {
  return upper_gamma(degrees / 2, chi2 / 2);
}

// How far counts are from `expected`, as a p-value. Expect at least five of each.
inline double chi2_p(std::span<const int64_t> counts, std::span<const double> expected) {
  double chi2 = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    chi2 += std::pow(static_cast<double>(counts[i]) - expected[i], 2) / expected[i];
  return chi2_p(chi2, static_cast<double>(counts.size() - 1));
}

// Of a normal deviate, both tails.
inline double normal_p(double z) {
  return std::erfc(std::abs(z) / std::sqrt(2.0));
}

}  // namespace ramet::test
