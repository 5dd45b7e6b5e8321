// float16 as float32, one value at a time.
#pragma once

#include <bit>
#include <cstdint>

namespace ramet {

// Exact, as a processor's own instruction: halves below 2^-14 have no implicit one, and their
// 10 bits count in units of 2^-24; infinity stays, and a NaN keeps its bits and becomes quiet.
constexpr float from_half(uint16_t half) {
  constexpr uint32_t kInfinity = 0x7C00, kLeastNormal = 0x0400, kQuiet = 1u << 22;
  const uint32_t sign = uint32_t{half} >> 15 << 31, magnitude = half & 0x7FFFu;
  if (magnitude < kLeastNormal) {
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
  }
  const uint32_t rebias = magnitude < kInfinity ? (127u - 15u) << 23 : (255u - 31u) << 23;
  const uint32_t quiet = magnitude > kInfinity ? kQuiet : 0;
  return std::bit_cast<float>(sign | ((magnitude << 13) + rebias) | quiet);
}

}  // namespace ramet
