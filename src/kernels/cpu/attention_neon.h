// Attention's 16 elements at once, by NEON: four vectors. In an unnamed namespace: see
// lanes_avx2.h.
#pragma once

#include <cstdint>

#include "attention_lanes.h"
#include "row_lanes_neon.h"

namespace ramet {
namespace {

struct NeonAttention {
  struct Values {
    float32x4_t of[4];
  };
  using Exp = FloatExp;

  template <typename Body>
  [[gnu::always_inline]] static Values each(const Body& body) {
    return {{body(0), body(1), body(2), body(3)}};
  }
  static Values load(const float* p) {
    return each([&](int i) { return vld1q_f32(p + 4 * i); });
  }
  static void store(float* p, Values v) {
    for (int i = 0; i < 4; ++i)
      vst1q_f32(p + 4 * i, v.of[i]);
  }
  static Values load_part(const float* p, int64_t count) {
    float part[kLanes] = {};
    for (int64_t i = 0; i < count; ++i)
      part[i] = p[i];
    return load(part);
  }
  static void store_part(float* p, int64_t count, Values v) {
    float part[kLanes];
    store(part, v);
    for (int64_t i = 0; i < count; ++i)
      p[i] = part[i];
  }
  static Values fill(float v) {
    return each([&](int) { return vdupq_n_f32(v); });
  }
  static Values add(Values a, Values b) {
    return each([&](int i) { return vaddq_f32(a.of[i], b.of[i]); });
  }
  static Values sub(Values a, Values b) {
    return each([&](int i) { return vsubq_f32(a.of[i], b.of[i]); });
  }
  static Values mul(Values a, Values b) {
    return each([&](int i) { return vmulq_f32(a.of[i], b.of[i]); });
  }
  static Values max(Values a, Values b) {
    return each([&](int i) { return vbslq_f32(vcgtq_f32(a.of[i], b.of[i]), a.of[i], b.of[i]); });
  }
  static Values if_positive(Values v, Values a, Values b) {
    return each([&](int i) { return vbslq_f32(vcgtzq_f32(v.of[i]), a.of[i], b.of[i]); });
  }
  static Values keep_above(Values v, Values least, Values a) {
    return each(
        [&](int i) { return vbslq_f32(vcltq_f32(v.of[i], least.of[i]), vdupq_n_f32(0), a.of[i]); });
  }
  // 2^n, where n is in the low bits of `shifted`.
  static Values power_of_two(Values shifted) {
    return each([&](int i) {
      const uint32x4_t biased = vaddq_u32(vreinterpretq_u32_f32(shifted.of[i]), vdupq_n_u32(127));
      return vreinterpretq_f32_u32(vshlq_n_u32(biased, 23));
    });
  }
  static float sum(Values v) {
    return NeonFloats::sum(vaddq_f32(vaddq_f32(v.of[0], v.of[2]), vaddq_f32(v.of[1], v.of[3])));
  }
};

}  // namespace
}  // namespace ramet
