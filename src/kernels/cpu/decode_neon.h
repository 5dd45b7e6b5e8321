// Gather that decodes 4 elements at a time. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <cstdint>

#include "decode_rows.h"
#include "row_lanes_neon.h"

namespace ramet {
namespace {

struct NeonDecode : NeonFloats {
  static constexpr int64_t kCount = kLanes;
  static Vector from_float16(const char* at) { return NeonFloat16::load(at); }
  static Vector from_bfloat16(const char* at) { return NeonBFloat16::load(at); }
  static Vector from_int8(const char* at) { return NeonInt8::load(at); }
  static Vector load(const float* at) { return vld1q_f32(at); }
  static void store(float* at, Vector v) { vst1q_f32(at, v); }
};

}  // namespace
}  // namespace ramet
