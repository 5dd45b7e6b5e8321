// Vectors of a row's elements, by NEON: loaded as float32, or float64, and stored rounded to
// nearest, ties to even. Stores past the caches are ordinary ones: these processors see by
// themselves that whole lines are written. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "row_lanes.h"

namespace ramet {
namespace {

struct NeonFloats {
  using Vector = float32x4_t;
  using Scalar = float;
  static constexpr int64_t kLanes = 4;
  static Vector load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, Vector v) { vst1q_f32(p, v); }
  static void stream(float* p, Vector v) { store(p, v); }
  static uint16x4_t load_halves(const char* p) {
    return vld1_u16(reinterpret_cast<const uint16_t*>(p));
  }
  static void store_halves(char* p, uint16x4_t v) { vst1_u16(reinterpret_cast<uint16_t*>(p), v); }
  static void stream_halves(char* p, uint16x4_t v) { store_halves(p, v); }
  static Vector load_bytes(const char* p) {
    uint32_t four;
    __builtin_memcpy(&four, p, sizeof four);
    const int16x8_t wide = vmovl_s8(vcreate_s8(four));
    return vcvtq_f32_s32(vmovl_s16(vget_low_s16(wide)));
  }
  static Vector fill(float v) { return vdupq_n_f32(v); }
  static Vector add(Vector a, Vector b) { return vaddq_f32(a, b); }
  static Vector sub(Vector a, Vector b) { return vsubq_f32(a, b); }
  static Vector mul(Vector a, Vector b) { return vmulq_f32(a, b); }
  static Vector div(Vector a, Vector b) { return vdivq_f32(a, b); }
  static Vector sqrt(Vector a) { return vsqrtq_f32(a); }
  // NaN if one of them is; the second of two zeros. NEON's own maximum takes +0 before -0.
  static Vector max(Vector a, Vector b) { return keep_nan(a, vbslq_f32(vcgtq_f32(a, b), a, b)); }
  static Vector min(Vector a, Vector b) { return keep_nan(a, vbslq_f32(vcltq_f32(a, b), a, b)); }
  static Vector keep_nan(Vector a, Vector other) { return vbslq_f32(vceqq_f32(a, a), other, a); }
  // `value` where a == b or one of them is a NaN, else 0.
  static Vector where_equal(Vector a, Vector b, Vector value) {
    const uint32x4_t differ = vorrq_u32(vcltq_f32(a, b), vcgtq_f32(a, b));
    return vbslq_f32(differ, fill(0), value);
  }
  // The upper half is added to the lower, until there is one.
  static float sum(Vector v) { return vpadds_f32(vadd_f32(vget_low_f32(v), vget_high_f32(v))); }
  static void fence() {}
};

struct NeonBFloat16Format {
  static float32x4_t widen(uint16x4_t v) { return vreinterpretq_f32_u32(vshll_n_u16(v, 16)); }
  static uint16x4_t narrow(float32x4_t v) {
    const uint32x4_t bits = vreinterpretq_u32_f32(v), upper = vshrq_n_u32(bits, 16);
    const uint32x4_t is_odd = vandq_u32(upper, vdupq_n_u32(1));
    const uint32x4_t rounded = vaddq_u32(bits, vaddq_u32(vdupq_n_u32(0x7fff), is_odd));
    const uint32x4_t quiet = vorrq_u32(bits, vdupq_n_u32(0x40 << 16));
    return vshrn_n_u32(vbslq_u32(vceqq_f32(v, v), rounded, quiet), 16);
  }
};

struct NeonFloat16Format {
  static float32x4_t widen(uint16x4_t v) { return vcvt_f32_f16(vreinterpret_f16_u16(v)); }
  static uint16x4_t narrow(float32x4_t v) { return vreinterpret_u16_f16(vcvt_f16_f32(v)); }
};

struct NeonFloat64 {
  using Vector = float64x2_t;
  using Scalar = double;
  static constexpr int64_t kLanes = 2, kBytes = 8;
  static Vector fill(double v) { return vdupq_n_f64(v); }
  static Vector add(Vector a, Vector b) { return vaddq_f64(a, b); }
  static Vector mul(Vector a, Vector b) { return vmulq_f64(a, b); }
  static Vector div(Vector a, Vector b) { return vdivq_f64(a, b); }
  static Vector max(Vector a, Vector b) { return keep_nan(a, vbslq_f64(vcgtq_f64(a, b), a, b)); }
  static Vector min(Vector a, Vector b) { return keep_nan(a, vbslq_f64(vcltq_f64(a, b), a, b)); }
  static Vector keep_nan(Vector a, Vector other) { return vbslq_f64(vceqq_f64(a, a), other, a); }
  static Vector where_equal(Vector a, Vector b, Vector value) {
    const uint64x2_t differ = vorrq_u64(vcltq_f64(a, b), vcgtq_f64(a, b));
    return vbslq_f64(differ, fill(0), value);
  }
  static double sum(Vector v) { return vpaddd_f64(v); }
  static Vector load(const char* p) { return vld1q_f64(reinterpret_cast<const double*>(p)); }
  static void store(char* p, Vector v) { vst1q_f64(reinterpret_cast<double*>(p), v); }
  static void stream(char* p, Vector v) { store(p, v); }
  static void fence() {}
};

using NeonLanes = RowLanes<NeonFloats, NeonFloat64, NeonBFloat16Format, NeonFloat16Format>;

}  // namespace
}  // namespace ramet
