// Floats of optimizers' updates, by AVX-512. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "update_lanes.h"

namespace ramet {
namespace {

struct Avx512Update {
  using Floats = __m512;
  static constexpr int64_t kCount = 16;
  static Floats load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Floats v) { _mm512_storeu_ps(p, v); }
  static Floats fill(float v) { return _mm512_set1_ps(v); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats div(Floats a, Floats b) { return _mm512_div_ps(a, b); }
  static Floats sqrt(Floats a) { return _mm512_sqrt_ps(a); }
};

}  // namespace
}  // namespace ramet
