// bfloat16, as CUDA has it: conversions alone.
#pragma once

#include <bit>
#include <cstdint>

struct __nv_bfloat16_raw {
  unsigned short x;
};

struct __nv_bfloat16 {
  unsigned short bits;
  __nv_bfloat16() = default;
  constexpr __nv_bfloat16(__nv_bfloat16_raw raw) : bits(raw.x) {}
};

inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) {
  return __nv_bfloat16_raw{bits};
}

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
  return value.bits;
}

inline float __bfloat162float(__nv_bfloat16 value) {
  return std::bit_cast<float>(uint32_t{value.bits} << 16);
}

// To the nearest, to even where two are.
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  const uint32_t rounded = is_nan ? 0x7fffu : (word + 0x7fffu + (word >> 16 & 1)) >> 16;
  return __nv_bfloat16_raw{static_cast<unsigned short>(rounded)};
}

inline __nv_bfloat16 __float2bfloat16(float value) {
  return __float2bfloat16_rn(value);
}
