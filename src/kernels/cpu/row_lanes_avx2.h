// Vectors of a row's elements, by AVX2: loaded as float32, or float64, and stored rounded to
// nearest, ties to even. In an unnamed namespace: see lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "row_lanes.h"

namespace ramet {
namespace {

struct Avx2Floats {
  using Vector = __m256;
  using Scalar = float;
  static constexpr int64_t kLanes = 8;
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  static void stream(float* p, Vector v) { _mm256_stream_ps(p, v); }
  static __m128i load_halves(const char* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static void store_halves(char* p, __m128i v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static void stream_halves(char* p, __m128i v) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(p), v);
  }
  static Vector load_bytes(const char* p) {
    const __m128i values = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(values));
  }
  static Vector fill(float v) { return _mm256_set1_ps(v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  static Vector sub(Vector a, Vector b) { return _mm256_sub_ps(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  static Vector div(Vector a, Vector b) { return _mm256_div_ps(a, b); }
  static Vector sqrt(Vector a) { return _mm256_sqrt_ps(a); }
  // NaN if one of them is; the second of two zeros.
  static Vector max(Vector a, Vector b) { return keep_nan(a, _mm256_max_ps(a, b)); }
  static Vector min(Vector a, Vector b) { return keep_nan(a, _mm256_min_ps(a, b)); }
  static Vector keep_nan(Vector a, Vector other) {
    return _mm256_blendv_ps(other, a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  }
  // `value` where a == b or one of them is a NaN, else 0.
  static Vector where_equal(Vector a, Vector b, Vector value) {
    return _mm256_and_ps(_mm256_cmp_ps(a, b, _CMP_EQ_UQ), value);
  }
  // The upper half is added to the lower, until there is one.
  static float sum(Vector v) {
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static void fence() { _mm_sfence(); }
};

struct Avx2BFloat16Format {
  static __m256 widen(__m128i v) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
  }
  static __m128i narrow(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v), upper = _mm256_srli_epi32(bits, 16);
    const __m256i is_odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    const __m256i half = _mm256_add_epi32(_mm256_set1_epi32(0x7fff), is_odd);
    const __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const __m256i words = _mm256_blendv_epi8(rounded, quiet, is_nan);
    const __m256i packed = _mm256_packus_epi32(words, words);  // half by half
    return _mm256_castsi256_si128(_mm256_permute4x64_epi64(packed, 0b1000));
  }
};

struct Avx2Float16Format {
  static __m256 widen(__m128i v) { return _mm256_cvtph_ps(v); }
  static __m128i narrow(__m256 v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

struct Avx2Float64 {
  using Vector = __m256d;
  using Scalar = double;
  static constexpr int64_t kLanes = 4, kBytes = 8;
  static Vector fill(double v) { return _mm256_set1_pd(v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
  static Vector div(Vector a, Vector b) { return _mm256_div_pd(a, b); }
  static Vector max(Vector a, Vector b) { return keep_nan(a, _mm256_max_pd(a, b)); }
  static Vector min(Vector a, Vector b) { return keep_nan(a, _mm256_min_pd(a, b)); }
  static Vector keep_nan(Vector a, Vector other) {
    return _mm256_blendv_pd(other, a, _mm256_cmp_pd(a, a, _CMP_UNORD_Q));
  }
  static Vector where_equal(Vector a, Vector b, Vector value) {
    return _mm256_and_pd(_mm256_cmp_pd(a, b, _CMP_EQ_UQ), value);
  }
  static double sum(Vector v) {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static Vector load(const char* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
  static void store(char* p, Vector v) { _mm256_storeu_pd(reinterpret_cast<double*>(p), v); }
  static void stream(char* p, Vector v) { _mm256_stream_pd(reinterpret_cast<double*>(p), v); }
  static void fence() { _mm_sfence(); }
};

using Avx2Lanes = RowLanes<Avx2Floats, Avx2Float64, Avx2BFloat16Format, Avx2Float16Format>;

}  // namespace
}  // namespace ramet
