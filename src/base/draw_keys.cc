#include "base/draw_keys.h"

#include "base/dependent_lanes.h"
#include "base/lanes_scalar.h"

namespace ramet {
namespace {

// 1 - x^2 / ((n - 1) n) * (1 - x^2 / ((n - 3) (n - 2)) * ...), n = last, last - 2, ... to the
// innermost: cos x with last = 2, and sin x / x with last = 3.
double series(double x, int last) {
  double sum = 1;
  for (int n = last + 16; n >= last; n -= 2)
    sum = 1 - x * x / ((n - 1) * n) * sum;
  return sum;
}

}  // namespace

Mixture mixture_of(uint64_t j, uint64_t kappa) {
  if (j == 0) return {};
  if (j > kappa - j) {  // beyond 45 degrees
    const Mixture mirrored = mixture_of(kappa - j, kappa);
    return {false, mirrored.sin, mirrored.cos};
  }
  constexpr double kHalfPi = 0x1.921fb54442d18p+0;
  const double x = kHalfPi * static_cast<double>(j) / static_cast<double>(kappa);
  return {false, series(x, 2), x * series(x, 3)};
}

DrawKeys step_keys(uint64_t seed, uint64_t epoch, uint64_t step, uint64_t kappa) {
  const uint64_t block = step / kappa;
  return {step_key(seed, epoch, block), step_key(seed, epoch, block + 1),
          mixture_of(step % kappa, kappa)};
}

uint64_t dependent_word(uint64_t now, uint64_t next, const Mixture& mixture) {
  return dependent_lanes<Scalar>(now, next, mixture);
}

}  // namespace ramet
