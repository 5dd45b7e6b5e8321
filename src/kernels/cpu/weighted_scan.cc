#include "weighted_scan.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/exponential_lanes.h"
#include "base/lanes_scalar.h"

namespace ramet {
namespace {

template <typename Weight>
double load_weights(const Weight* weights, int64_t count, double* out) {
  double sum = 0;
  bool all_are = true;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(weights[i]);
    all_are &= is_weight(out[i]);
    sum += out[i];
  }
  return all_are ? sum : std::numeric_limits<double>::quiet_NaN();
}

int64_t candidates_of(const DrawKeys& keys,
                      const int64_t* x,
                      const double* weights,
                      int64_t count,
                      double bound,
                      uint64_t* words,
                      uint32_t* found) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    words[i] = draw_word(keys, static_cast<uint64_t>(x[i]));
    const double a = 1 - fraction_lanes<Scalar>(words[i]);
    found[size] = static_cast<uint32_t>(i);
    size += a + a * a * 0.5 <= weights[i] * bound * kWeightedSlack ? 1 : 0;
  }
  return size;
}

int64_t numbers_of(const uint64_t* words,
                   const double* weights,
                   const uint32_t* found,
                   int64_t count,
                   double bound,
                   double* out) {
  int64_t within = 0;
  for (int64_t i = 0; i < count; ++i) {
    out[i] = minus_log_lanes<Scalar>(fraction_lanes<Scalar>(words[found[i]])) / weights[found[i]];
    within += out[i] <= bound ? 1 : 0;
  }
  return within;
}

int64_t keep_smallest_found(const double* numbers, int64_t count, int64_t k, uint32_t* found) {
  if (count <= k) return count;
  std::array<double, kMaxRanked> sorted = {};
  std::copy_n(numbers, count, sorted.begin());
  std::nth_element(sorted.begin(), sorted.begin() + k - 1, sorted.begin() + count);
  const double kth = sorted[static_cast<size_t>(k - 1)];
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    found[size] = found[i];
    size += numbers[i] <= kth ? 1 : 0;
  }
  return size;
}

}  // namespace

WeightedKernel weighted_portable() {
  return {load_weights<float>, load_weights<double>, candidates_of, numbers_of,
          keep_smallest_found};
}

}  // namespace ramet
