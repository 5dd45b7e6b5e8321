// Floats of optimizers' updates, by AVX2. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "update_lanes.h"

namespace ramet {
namespace {

struct Avx2Update {
  using Floats = __m256;
  static constexpr int64_t kCount = 8;
  static Floats load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Floats v) { _mm256_storeu_ps(p, v); }
  static Floats fill(float v) { return _mm256_set1_ps(v); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats sub(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  static Floats mul(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats div(Floats a, Floats b) { return _mm256_div_ps(a, b); }
  static Floats sqrt(Floats a) { return _mm256_sqrt_ps(a); }
};

}  // namespace
}  // namespace ramet
