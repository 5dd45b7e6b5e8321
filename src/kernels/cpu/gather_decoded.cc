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
T element(const char* row, int64_t i) {
  T value;
  std::memcpy(&value, row + i * int64_t(sizeof(T)), sizeof(T));
  return value;
}

struct Scalars {
  struct Float16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    float at(int64_t i) const { return from_half(element<uint16_t>(row, i)); }
    const char* row = nullptr;
  };

  struct BFloat16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    float at(int64_t i) const {
      return std::bit_cast<float>(uint32_t{element<uint16_t>(row, i)} << 16);
    }
    const char* row = nullptr;
  };

  struct Int8ScaledByRow {
    explicit Int8ScaledByRow(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t id) {
      row = new_row;
      scale = scales[id];
    }
    float at(int64_t i) const { return static_cast<float>(element<int8_t>(row, i)) * scale; }
    const float* scales;
    const char* row = nullptr;
    float scale = 0;
  };

  struct Int8ScaledByColumn {
    explicit Int8ScaledByColumn(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t) { row = new_row; }
    float at(int64_t i) const { return static_cast<float>(element<int8_t>(row, i)) * scales[i]; }
    const float* scales;
    const char* row = nullptr;
  };
};

}  // namespace

int64_t gather_decoded_portable(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  return with_decoder<Scalars>(args, [&](auto decoder) {
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
