// The kernels of weighted_scan.h with an edge per 64-bit lane; see lanes.h for `L`.
#pragma once

#include <cstdint>

#include "base/exponential_lanes.h"
#include "labor_lanes.h"
#include "lanes.h"
#include "weighted_scan.h"

namespace ramet {

template <typename L>
inline constexpr int kLaneDoubles = L::kCount / 2;

// A row's end is filled with weights of 0, which are weights and add nothing.
template <typename L, typename Weight>
double load_weight_lanes(const Weight* weights, int64_t count, double* out) {
  constexpr int kStep = kLaneDoubles<L>;
  const auto smallest = L::fill_f64(kSmallestWeight), largest = L::fill_f64(kLargestWeight);
  auto sum = L::fill_f64(0);
  uint32_t wrong = 0;
  const auto load = [&](const Weight* from, double* to) {
    const auto w = L::load_f64(from);
    const uint32_t is_weight =
        (L::at_most_f64(smallest, w) & L::at_most_f64(w, largest)) |
        (L::at_most_f64(w, L::fill_f64(0)) & L::at_most_f64(L::fill_f64(0), w));
    wrong |= ~is_weight & ((1U << kStep) - 1);
    sum = L::add_f64(sum, w);
    L::store(to, L::as_u64(w));
  };
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep)
    load(weights + i, out + i);
  if (i < count) {
    Weight rest[kStep] = {};
    for (int64_t e = i; e < count; ++e)
      rest[e - i] = weights[e];
    load(rest, out + i);
  }
  if (wrong != 0) return __builtin_nan("");
  alignas(64) double sums[kStep];
  L::store(sums, L::as_u64(sum));
  double total = 0;
  for (const double of_lane : sums)
    total += of_lane;
  return total;
}

template <typename L>
int64_t candidate_lanes(const DrawKeys& keys,
                        const int64_t* x,
                        const double* weights,
                        int64_t count,
                        double bound,
                        uint64_t* words,
                        uint32_t* found) {
  const auto bounds = L::fill_f64(bound), slack = L::fill_f64(kWeightedSlack);
  const auto may_be_within = [=](auto u, int64_t i) {
    const auto a = L::add_f64(L::fill_f64(1.0), L::mul_f64(L::fill_f64(-1.0), u));
    const auto least = L::add_f64(a, L::mul_f64(L::mul_f64(a, a), L::fill_f64(0.5)));
    return L::at_most_f64(least, L::mul_f64(L::mul_f64(L::load_f64(weights + i), bounds), slack));
  };
  return pack_by_fractions<L>(keys, x, count, words, found, may_be_within);
}

template <typename L>
int64_t number_lanes(const uint64_t* words,
                     const double* weights,
                     const uint32_t* found,
                     int64_t count,
                     double bound,
                     double* out) {
  constexpr int kStep = kLaneDoubles<L>;
  const auto* bits = reinterpret_cast<const double*>(words);
  const auto* edges = reinterpret_cast<const int32_t*>(found);
  int64_t within = 0;
  for (int64_t i = 0; i < count; i += kStep) {
    const auto edge = L::load_ids(edges + i);
    const auto u = fraction_lanes<L>(L::as_u64(L::gather_f64(bits, edge)));
    const auto number = L::div_f64(minus_log_lanes<L>(u), L::gather_f64(weights, edge));
    L::store(out + i, L::as_u64(number));
    const uint32_t inside = count - i < kStep ? (1U << (count - i)) - 1 : (1U << kStep) - 1;
    within += __builtin_popcount(L::at_most_f64(number, L::fill_f64(bound)) & inside);
  }
  return within;
}

// Each number is compared with each: without a branch, that is faster than selecting.
template <typename L>
int64_t smallest_lanes(const double* numbers, int64_t count, int64_t k, uint32_t* found) {
  constexpr int kHalf = kLaneDoubles<L>;
  const auto most = L::fill64(static_cast<uint64_t>(k - 1));
  uint32_t* out = found;
  for (int64_t i = 0; i < count; i += L::kCount) {
    const auto low = L::load_f64(numbers + i), high = L::load_f64(numbers + i + kHalf);
    auto below_low = L::fill64(0), below_high = L::fill64(0);
    for (int64_t j = 0; j < count; ++j) {
      const auto other = L::fill_f64(numbers[j]);
      below_low = L::count_less(below_low, other, low);
      below_high = L::count_less(below_high, other, high);
    }
    const uint32_t kept = L::at_most(below_low, most) | L::at_most(below_high, most) << kHalf;
    const uint32_t inside = count - i < L::kCount ? (1U << (count - i)) - 1 : (1U << L::kCount) - 1;
    out += L::pack(out, kept & inside, L::load(found + i));
  }
  return out - found;
}

template <typename L>
WeightedKernel weighted_lanes() {
  return {load_weight_lanes<L, float>, load_weight_lanes<L, double>, candidate_lanes<L>,
          number_lanes<L>, smallest_lanes<L>};
}

}  // namespace ramet
