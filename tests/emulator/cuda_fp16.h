// float16, as CUDA has it: conversions alone.
#pragma once

#include <bit>
#include <cstdint>

struct __half_raw {
  unsigned short x;
};

struct __half {
  unsigned short bits;
  __half() = default;
  constexpr __half(__half_raw raw) : bits(raw.x) {}
};

inline __half __ushort_as_half(unsigned short bits) {
  return __half_raw{bits};
}

inline unsigned short __half_as_ushort(__half value) {
  return value.bits;
}

inline float __half2float(__half value) {
  const uint32_t sign = uint32_t{value.bits} >> 15 << 31;
  const uint32_t rest = value.bits & 0x7fffu;
  // Moved into float32's place the exponent is too small by 112: one exact multiplication corrects
  // it, of subnormal numbers, too. Infinity and NaN keep all bits of the exponent.
  const float scaled = std::bit_cast<float>(rest << 13) * 0x1p112f;
  const uint32_t special = rest >= 0x7c00u ? 0x7f800000u : 0u;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(scaled) | special | sign);
}

// To the nearest, to even where two are.
inline __half __float2half_rn(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const auto sign = uint16_t(word >> 16 & 0x8000u);
  const uint32_t magnitude = word & 0x7fffffffu;
  uint32_t result;
  if (magnitude > 0x7f800000u) {
    result = 0x7fffu;
  } else if (magnitude >= 0x477ff000u) {  // rounds to 2^16 or more
    result = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // subnormal: the addition rounds to multiples of 2^-24
    result = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  } else {
    const uint32_t odd = magnitude >> 13 & 1;
    result = (magnitude + 0xfffu + odd - (112u << 23)) >> 13;
  }
  return __half_raw{static_cast<unsigned short>(sign | result)};
}

inline __half __float2half(float value) {
  return __float2half_rn(value);
}
