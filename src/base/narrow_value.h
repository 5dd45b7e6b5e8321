// One float32 as float16 or bfloat16, and back: docs/semantics.md, sections 18 and 19. Integers and
// exact steps alone, so that CUDA's kernels, which read this file, too, have the same bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "base/half.h"

namespace ramet {

inline constexpr uint32_t kFloatSign = 0x80000000, kFloatInfinity = 0x7f800000,
                          kHalfInfinity = 0x7c00;
inline constexpr uint32_t kLeastNormalHalf = (127u - 14u) << 23;
inline constexpr uint32_t kHalfOverflow =
    0x477ff000;  // 65520, from where the nearest half is infinite

// A float's magnitude with its low kBits rounded away, by random bits `r`; even where r is unknown.
template <int kBits>
struct NearestBits {
  static constexpr uint32_t drop(uint32_t bits, uint32_t) {
    return (bits + (1u << (kBits - 1)) - 1 + (bits >> kBits & 1)) >> kBits;
  }
};
template <int kBits>
struct StochasticBits {
  static constexpr uint32_t drop(uint32_t bits, uint32_t r) {
    return (bits + (r & ((1u << kBits) - 1))) >> kBits;
  }
};

constexpr uint32_t subnormal_half(float magnitude, bool is_stochastic, uint32_t r) {
  const double units = double{magnitude} * 0x1p24;  // exact, below 2^10
  if (is_stochastic) return static_cast<uint32_t>(units + r * 0x1p-16);
  return static_cast<uint32_t>((units + 0x1p52) - 0x1p52);
}

template <template <int> typename Round>
constexpr uint16_t to_half(float value, uint32_t r) {
  constexpr bool kIsStochastic = std::is_same_v<Round<13>, StochasticBits<13>>;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & ~kFloatSign;
  uint32_t half;
  if (magnitude > kFloatInfinity)
    half = kHalfInfinity | 0x200 | (magnitude >> 13 & 0x3ff);
  else if (magnitude >= kHalfOverflow)
    half = kHalfInfinity;
  else if (magnitude < kLeastNormalHalf)
    half = subnormal_half(std::bit_cast<float>(magnitude), kIsStochastic, r);
  else
    half = std::min(Round<13>::drop(magnitude - ((127u - 15u) << 23), r), kHalfInfinity - 1);
  return static_cast<uint16_t>(sign | half);
}

template <template <int> typename Round>
constexpr uint16_t to_bfloat16(float value, uint32_t r) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & ~kFloatSign;
  const uint32_t nearest = NearestBits<16>::drop(magnitude, 0);
  uint32_t rounded;
  if (magnitude > kFloatInfinity)
    rounded = magnitude >> 16 | 0x40;
  else if (nearest >= kFloatInfinity >> 16)
    rounded = kFloatInfinity >> 16;
  else
    rounded = std::min(Round<16>::drop(magnitude, r), (kFloatInfinity >> 16) - 1);
  return static_cast<uint16_t>(sign | rounded);
}

constexpr float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

}  // namespace ramet
