#include "weighted_scan.h"

#include <algorithm>
#include <limits>

#include "base/exponential_lanes.h"
#include "base/lanes_scalar.h"

namespace ramet {
namespace {

constexpr double kWeightedSlack = 1 + 0x1p-40;  // more than numbers are off by

template <typename Weight>
double sum_of(const Weight* weights, int64_t count) {
  double sum = 0;
  bool all_are = true;
  for (int64_t i = 0; i < count; ++i) {
    const auto weight = static_cast<double>(weights[i]);
    all_are &= is_weight(weight);
    sum += weight;
  }
  return all_are ? sum : std::numeric_limits<double>::quiet_NaN();
}

template <typename Weight>
double running_sums(const Weight* weights, int64_t count, double before, double* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = before += static_cast<double>(weights[i]);
  return sum_of(weights, count) >= 0 ? before : std::numeric_limits<double>::quiet_NaN();
}

// As draw_word(), by what the value adds to a key.
uint64_t word_of(const DrawKeys& keys, uint64_t stream) {
  const uint64_t now = mix64(keys.now + stream);
  if (keys.mixture.plain) return now;
  return dependent_word(now, mix64(keys.next + stream), keys.mixture);
}

template <typename Weight>
int64_t candidates_of(const DrawKeys& keys,
                      const uint64_t* streams,
                      const Weight* weights,
                      int64_t count,
                      double bound,
                      uint32_t* found) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double a = 1 - fraction_lanes<Scalar>(word_of(keys, streams[i]));
    found[size] = static_cast<uint32_t>(i);
    size += a + a * a * 0.5 <= static_cast<double>(weights[i]) * bound * kWeightedSlack ? 1 : 0;
  }
  return size;
}

template <typename Weight>
int64_t numbers_of(const DrawKeys& keys,
                   const uint64_t* streams,
                   const Weight* weights,
                   const uint32_t* found,
                   int64_t count,
                   double bound,
                   double* out) {
  int64_t within = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double u = fraction_lanes<Scalar>(word_of(keys, streams[found[i]]));
    out[i] = minus_log_lanes<Scalar>(u) / static_cast<double>(weights[found[i]]);
    within += out[i] <= bound ? 1 : 0;
  }
  return within;
}

template <typename Weight>
int64_t accepted_of(const TriedRow<Weight>& row,
                    const SomeTries& tries,
                    int64_t count,
                    uint32_t* out) {
  int64_t size = 0;
  for (int64_t t = 0; t < count; ++t) {
    const auto weight = static_cast<double>(row.weights[tries.position[t]]);
    out[size] = static_cast<uint32_t>(tries.position[t]);
    size += fraction_lanes<Scalar>(tries.rest[t]) * row.largest < weight ? 1 : 0;
  }
  return size;
}

void make_tries(const DrawKeys& keys, int64_t degree, int64_t first, SomeTries& out) {
  for (int64_t t = 0; t < SomeTries::kCount; ++t) {
    const uint64_t word = absorb(keys.now, kFirstTry + static_cast<uint64_t>(first + t));
    const auto [position, rest] = try_of(word, degree);
    out.position[t] = position;
    out.rest[t] = rest;
  }
}

int64_t keep_smallest_found(const double* numbers, int64_t count, int64_t k, uint32_t* found) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double own = numbers[i];
    found[size] = found[i];
    size += std::count_if(numbers, numbers + count, [own](double n) { return n < own; }) < k;
  }
  return size;
}

template <typename Weight>
WeightedScan<Weight> scan_of() {
  return {sum_of<Weight>, running_sums<Weight>, candidates_of<Weight>, numbers_of<Weight>,
          accepted_of<Weight>};
}

}  // namespace

WeightedKernel weighted_portable() {
  return {scan_of<float>(), scan_of<double>(), keep_smallest_found, make_tries};
}

}  // namespace ramet
