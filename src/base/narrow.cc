#include "base/narrow.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "base/half.h"
#include "ramet/random.h"

namespace ramet {
namespace {

constexpr uint32_t kSign = 0x80000000, kInfinity = 0x7f800000, kHalfInfinity = 0x7c00;
constexpr uint32_t kLeastNormalHalf = (127u - 14u) << 23;
constexpr uint32_t kHalfOverflow = 0x477ff000;  // 65520, from where the nearest half is infinite

// A float's magnitude with its low kBits rounded away, by random bits `r`; even where r is unknown.
template <int kBits>
struct Nearest {
  static uint32_t drop(uint32_t bits, uint32_t) {
    return (bits + (1u << (kBits - 1)) - 1 + (bits >> kBits & 1)) >> kBits;
  }
};
template <int kBits>
struct Stochastic {
  static uint32_t drop(uint32_t bits, uint32_t r) {
    return (bits + (r & ((1u << kBits) - 1))) >> kBits;
  }
};

uint32_t subnormal_half(float magnitude, bool is_stochastic, uint32_t r) {
  const double units = double{magnitude} * 0x1p24;  // exact, below 2^10
  if (is_stochastic) return static_cast<uint32_t>(units + r * 0x1p-16);
  return static_cast<uint32_t>((units + 0x1p52) - 0x1p52);
}

template <template <int> typename Round>
uint16_t to_half(float value, uint32_t r) {
  constexpr bool kIsStochastic = std::is_same_v<Round<13>, Stochastic<13>>;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & ~kSign;
  uint32_t half;
  if (magnitude > kInfinity)
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
uint16_t to_bfloat16(float value, uint32_t r) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & ~kSign;
  const uint32_t nearest = Nearest<16>::drop(magnitude, 0);
  uint32_t rounded;
  if (magnitude > kInfinity)
    rounded = magnitude >> 16 | 0x40;
  else if (nearest >= kInfinity >> 16)
    rounded = kInfinity >> 16;
  else
    rounded = std::min(Round<16>::drop(magnitude, r), (kInfinity >> 16) - 1);
  return static_cast<uint16_t>(sign | rounded);
}

template <typename Convert>
void convert_row(const float* values,
                 int64_t width,
                 void* out,
                 Rounding rounding,
                 uint64_t key,
                 Convert convert) {
  auto* to = static_cast<uint16_t*>(out);
  uint64_t word = 0;
  for (int64_t i = 0; i < width; ++i) {
    if (rounding == Rounding::kStochastic && i % 4 == 0)
      word = absorb(key, static_cast<uint64_t>(i) / 4);
    to[i] = convert(values[i], static_cast<uint32_t>(word & 0xffff));
    word >>= 16;
  }
}

}  // namespace

void narrow_row(
    const float* values, int64_t width, DType dtype, void* out, Rounding rounding, uint64_t key) {
  if (width == 0) return;  // there may be no memory
  const bool to_nearest = rounding == Rounding::kNearest;
  if (dtype == DType::kFloat32)
    std::memcpy(out, values, static_cast<size_t>(width) * sizeof(float));
  else if (dtype == DType::kFloat16)
    convert_row(values, width, out, rounding, key,
                to_nearest ? to_half<Nearest> : to_half<Stochastic>);
  else
    convert_row(values, width, out, rounding, key,
                to_nearest ? to_bfloat16<Nearest> : to_bfloat16<Stochastic>);
}

void widen_row(const void* values, int64_t width, DType dtype, float* out) {
  if (width == 0) return;
  const auto* from = static_cast<const uint16_t*>(values);
  if (dtype == DType::kFloat32)
    std::memcpy(out, values, static_cast<size_t>(width) * sizeof(float));
  else if (dtype == DType::kFloat16)
    for (int64_t i = 0; i < width; ++i)
      out[i] = from_half(from[i]);
  else
    for (int64_t i = 0; i < width; ++i)
      out[i] = std::bit_cast<float>(uint32_t{from[i]} << 16);
}

}  // namespace ramet
