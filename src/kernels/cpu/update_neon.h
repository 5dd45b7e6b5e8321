// Floats of optimizers' updates, by NEON. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <cstdint>

#include "row_lanes_neon.h"
#include "update_lanes.h"

namespace ramet {
namespace {

struct NeonUpdate : NeonFloats {
  using Floats = Vector;
  static constexpr int64_t kCount = kLanes;
  static Floats load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, Floats v) { vst1q_f32(p, v); }
  static Floats sub(Floats a, Floats b) { return vsubq_f32(a, b); }
  static Floats sqrt(Floats a) { return vsqrtq_f32(a); }
};

}  // namespace
}  // namespace ramet
