// Gather that decodes, one element at a time, with ordinary stores: what the vector files fall back
// on, and the definition of their bits.
#include <bit>
#include <cstring>

#include "decode_rows.h"
#include "gather.h"

namespace ramet {
namespace {

// Exact, as a processor's own instruction: halves below 2^-14 have no implicit one, and their
// 10 bits count in units of 2^-24; infinity stays, and a NaN keeps its bits and becomes quiet.
float from_half(uint16_t half) {
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

template <typename T>
T element(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

struct Scalar {
  using Vector = float;

  static float from_float16(const char* at) { return from_half(element<uint16_t>(at)); }
  static float from_bfloat16(const char* at) {
    return std::bit_cast<float>(uint32_t{element<uint16_t>(at)} << 16);
  }
  static float from_int8(const char* at) { return static_cast<float>(element<int8_t>(at)); }

  static float load(const float* at) { return *at; }
  static float fill(float v) { return v; }
  static float mul(float a, float b) { return a * b; }
};

}  // namespace

int64_t gather_decoded_portable(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  return with_decoder<Scalar>(args, [&](auto decoder) {
    return for_each_decoded(
        args, kLongestRequested, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i < width; ++i)
            out[i] = row.at(i);
          out += width;
        });
  });
}

}  // namespace ramet
