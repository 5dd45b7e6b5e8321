// Attention's 16 elements at once, by AVX-512. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "attention_lanes.h"
#include "row_lanes_avx512.h"

namespace ramet {
namespace {

struct Avx512Attention : Avx512Floats {
  using Values = Vector;
  using Exp = FloatExp;

  static Values load_part(const float* p, int64_t count) {
    return _mm512_maskz_loadu_ps(first(count), p);
  }
  static void store_part(float* p, int64_t count, Values v) {
    _mm512_mask_storeu_ps(p, first(count), v);
  }
  static Values max(Values a, Values b) { return _mm512_max_ps(a, b); }
  static Values if_positive(Values v, Values a, Values b) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_GT_OQ), b, a);
  }
  static Values keep_above(Values v, Values least, Values a) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, least, _CMP_NLT_UQ), a);
  }
  static Values power_of_two(Values shifted) {
    const __m512i bits = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(bits, _mm512_set1_epi32(127 << 23)));
  }

 private:
  static __mmask16 first(int64_t count) { return static_cast<__mmask16>((1U << count) - 1); }
};

}  // namespace
}  // namespace ramet
