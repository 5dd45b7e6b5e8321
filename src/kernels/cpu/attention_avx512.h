// Attention's 16 elements at once, by AVX-512. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "attention_lanes.h"

namespace ramet {
namespace {

struct Avx512Attention {
  using Values = __m512;
  using Exp = FloatExp;

  static Values load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Values v) { _mm512_storeu_ps(p, v); }
  static Values load_part(const float* p, int64_t count) {
    return _mm512_maskz_loadu_ps(first(count), p);
  }
  static void store_part(float* p, int64_t count, Values v) {
    _mm512_mask_storeu_ps(p, first(count), v);
  }
  static Values fill(float v) { return _mm512_set1_ps(v); }
  static Values add(Values a, Values b) { return _mm512_add_ps(a, b); }
  static Values sub(Values a, Values b) { return _mm512_sub_ps(a, b); }
  static Values mul(Values a, Values b) { return _mm512_mul_ps(a, b); }
  static Values max(Values a, Values b) { return _mm512_max_ps(a, b); }
  static Values if_positive(Values v, Values a, Values b) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ), b, a);
  }
  static Values keep_above(Values v, Values least, Values a) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, least, _CMP_NLT_UQ), a);
  }
  static constexpr float one_over(int i) { return 1.0F / static_cast<float>(i); }
  static Values power_of_two(Values shifted) {
    const __m512i bits = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(bits, _mm512_set1_epi32(127 << 23)));
  }
  static float fold(Values v) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }

 private:
  static __mmask16 first(int64_t count) { return static_cast<__mmask16>((1U << count) - 1); }
};

}  // namespace
}  // namespace ramet
