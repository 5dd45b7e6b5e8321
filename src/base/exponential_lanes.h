// What a weight may be, the number in (0, 1) that a word stands for, and its negative logarithm:
// docs/semantics.md, section 13. Of + - x / alone, so that all lane types and the scalar code give
// the same bits.
//
// `L` is a lanes type (see lanes.h) with doubles, F64, as wide as its U64.
#pragma once

#include <cstdint>

namespace ramet {

// Outside, numbers that are made of weights, or their sums, are too large or too small for a
// double's precision.
inline constexpr double kSmallestWeight = 1e-290, kLargestWeight = 1e290;

constexpr bool is_weight(double value) {
  return (value >= kSmallestWeight && value <= kLargestWeight) || value == 0;
}

// A float is a weight unless it is negative, infinite or not a number: as an integer, too large.
inline constexpr uint32_t kLargestFloat = 0x7f7fffff;

inline constexpr uint64_t kBitsOfInteger = 0x4330000000000000ULL;  // + v: the double 2^52 + v

// Exact.
template <typename L>
constexpr typename L::F64 fraction_lanes(typename L::U64 word) {
  const auto integer = L::add64(L::template shift_right<12>(word), L::fill64(kBitsOfInteger));
  return L::mul_f64(L::add_f64(L::as_f64(integer), L::fill_f64(0.5 - 0x1p52)),
                    L::fill_f64(0x1p-52));
}

// u = m 2^-e with m about 1, and log m = 2 atanh((m - 1) / (m + 1)) by its series.
template <typename L>
constexpr typename L::F64 minus_log_lanes(typename L::F64 u) {
  constexpr uint64_t kBitsOfRoot = 0x3fe6a09e667f3bcdULL;  // of the least m, the root of 1/2
  const auto minus_bits = L::bit_xor(L::as_u64(u), L::fill64(~uint64_t{0}));  // less 1
  const auto e = L::template shift_right<52>(
      L::add64(minus_bits, L::fill64(kBitsOfRoot + (uint64_t{1} << 52))));
  const auto m = L::as_f64(L::add64(L::as_u64(u), L::template shift_left<52>(e)));
  const auto exponent =
      L::add_f64(L::as_f64(L::add64(e, L::fill64(kBitsOfInteger))), L::fill_f64(-0x1p52));
  const auto f = L::div_f64(L::add_f64(m, L::fill_f64(-1.0)), L::add_f64(m, L::fill_f64(1.0)));
  const auto square = L::mul_f64(f, f);
  auto sum = L::fill_f64(0);
  for (int n = 21; n > 0; n -= 2)
    sum = L::add_f64(L::mul_f64(sum, square), L::fill_f64(1.0 / n));
  return L::add_f64(L::mul_f64(exponent, L::fill_f64(0x1.62e42fefa39efp-1)),
                    L::mul_f64(L::mul_f64(L::fill_f64(-2.0), f), sum));
}

}  // namespace ramet
