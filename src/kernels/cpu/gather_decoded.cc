// Gather that decodes, one element at a time, with ordinary stores: what the vector files fall back
// on, and the definition of their bits.
#include <bit>
#include <cstring>

#include "base/half.h"
#include "decode_rows.h"
#include "gather.h"

namespace ramet {
namespace {

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
