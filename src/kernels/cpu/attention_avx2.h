// Attention's 16 elements at once, by AVX2: two vectors. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "attention_lanes.h"
#include "row_lanes_avx2.h"

namespace ramet {
namespace {

struct Avx2Attention {
  struct Values {
    __m256 low, high;
  };
  using Exp = FloatExp;

  static Values load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, Values v) {
    _mm256_storeu_ps(p, v.low);
    _mm256_storeu_ps(p + 8, v.high);
  }
  static Values load_part(const float* p, int64_t count) {
    return {_mm256_maskload_ps(p, first(count)), _mm256_maskload_ps(p + 8, first(count - 8))};
  }
  static void store_part(float* p, int64_t count, Values v) {
    _mm256_maskstore_ps(p, first(count), v.low);
    _mm256_maskstore_ps(p + 8, first(count - 8), v.high);
  }
  static Values fill(float v) { return {_mm256_set1_ps(v), _mm256_set1_ps(v)}; }
  static Values add(Values a, Values b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  static Values sub(Values a, Values b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  static Values mul(Values a, Values b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  static Values max(Values a, Values b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  static Values if_positive(Values v, Values a, Values b) {
    return {positive(v.low, a.low, b.low), positive(v.high, a.high, b.high)};
  }
  static Values keep_above(Values v, Values least, Values a) {
    return {_mm256_andnot_ps(_mm256_cmp_ps(v.low, least.low, _CMP_LT_OQ), a.low),
            _mm256_andnot_ps(_mm256_cmp_ps(v.high, least.high, _CMP_LT_OQ), a.high)};
  }
  static Values power_of_two(Values shifted) {
    return {exponent(shifted.low), exponent(shifted.high)};
  }
  static float sum(Values v) { return Avx2Floats::sum(_mm256_add_ps(v.low, v.high)); }

 private:
  // The lanes below `count`.
  static __m256i first(int64_t count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lanes);
  }
  static __m256 positive(__m256 v, __m256 a, __m256 b) {
    return _mm256_blendv_ps(b, a, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GT_OQ));
  }
  // 2^n, where n is in the low bits of `shifted`.
  static __m256 exponent(__m256 shifted) {
    const __m256i bits = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(bits, _mm256_set1_epi32(127 << 23)));
  }
};

}  // namespace
}  // namespace ramet
