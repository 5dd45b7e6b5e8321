#include "base/narrow.h"

#include <cstring>

#include "base/narrow_value.h"
#include "ramet/random.h"

namespace ramet {
namespace {

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
                to_nearest ? to_half<NearestBits> : to_half<StochasticBits>);
  else
    convert_row(values, width, out, rounding, key,
                to_nearest ? to_bfloat16<NearestBits> : to_bfloat16<StochasticBits>);
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
      out[i] = from_bfloat16(from[i]);
}

}  // namespace ramet
