// LaborWeights of labor_scan.h with a weight per lane; see lanes.h for `L`.
//
// Sums have the bits of adding in order. Where sums of floats are exact, that is any order. Where
// they are not, the additions wait for each other, and divisions are done meanwhile.
#pragma once

#include <cstdint>

#include "base/exponential_lanes.h"
#include "labor_scan.h"
#include "lanes.h"

namespace ramet {

template <typename L>
double ordered_sum_lanes(const double* weights, int64_t count) {
  double sum = 0;
  bool all_are = true;
  for (int64_t i = 0; i < count; ++i) {
    all_are &= is_weight(weights[i]);
    sum += weights[i];
  }
  return all_are ? sum : __builtin_nan("");
}

// All sums of floats are multiples of the last bit of the lowest. Where that is at least 2^-53 of
// the whole sum they are exact; the lowest itself is then at least 2^-29 of it.
template <typename L>
double ordered_sum_lanes(const float* weights, int64_t count) {
  const auto minus_1 = L::fill32(~0U);
  auto highest = L::fill32(0), lowest = minus_1;  // lowest less 1: 0 is no lowest
  auto low = L::fill_f64(0), high = low;
  const auto add = [&](const float* from) {
    const auto bits = L::as_u32(L::load_f32(from));
    highest = L::max32(highest, bits);
    lowest = L::min32(lowest, L::add32(bits, minus_1));
    low = L::add_f64(low, L::load_f64(from));
    high = L::add_f64(high, L::load_f64(from + L::kCount / 2));
  };
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount)
    add(weights + i);
  if (i < count) {
    alignas(64) float rest[L::kCount];
    L::store_f32(rest, L::load_f32(weights + i, static_cast<int>(count - i)));
    add(rest);
  }
  if (!all_at_most<L>(highest, L::fill32(kLargestFloat))) return __builtin_nan("");
  alignas(64) double sums[L::kCount / 2];
  L::store_f64(sums, L::add_f64(low, high));
  double sum = 0;
  for (const double of_lane : sums)
    sum += of_lane;
  const uint32_t least = __builtin_bit_cast(uint32_t, static_cast<float>(sum * 0x1p-28));
  if (all_at_most<L>(L::fill32(least - 1), lowest)) return sum;
  sum = 0;
  for (i = 0; i < count; ++i)
    sum += static_cast<double>(weights[i]);
  return sum;
}

template <typename L, typename Weight>
ShareBlock share_block_lanes(const Weight* weights, int64_t count, double sum, double* out) {
  constexpr int kStep = L::kCount / 2;
  ShareBlock block = {0, 0};
  const auto divide = [&](const Weight* from, double* to) {
    const auto share = L::div_f64(L::load_f64(from), L::fill_f64(sum));
    L::store_f64(to, share);
    block.kept += __builtin_popcount(L::at_most_f64(L::fill_f64(kSmallestWeight), share));
    for (int lane = 0; lane < kStep; ++lane)
      block.sum += to[lane];
  };
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    divide(weights + i, out + i);
  if (i == count) return block;
  Weight rest[kStep] = {};  // adds 0
  for (int64_t e = i; e < count; ++e)
    rest[e - i] = weights[e];
  divide(rest, out + i);
  return block;
}

template <typename L, typename Weight>
LaborWeights<Weight> labor_weights_lanes() {
  return {ordered_sum_lanes<L>, share_block_lanes<L, Weight>};
}

}  // namespace ramet
