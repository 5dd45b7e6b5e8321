// Vectors of a row's elements, by AVX-512: see row_lanes_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "row_lanes.h"

namespace ramet {
namespace {

struct Avx512Floats {
  using Vector = __m512;
  using Scalar = float;
  static constexpr int64_t kLanes = 16;
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static void stream(float* p, Vector v) { _mm512_stream_ps(p, v); }
  static __m256i load_halves(const char* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static void store_halves(char* p, __m256i v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static void stream_halves(char* p, __m256i v) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p), v);
  }
  static Vector load_bytes(const char* p) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(values));
  }
  static Vector fill(float v) { return _mm512_set1_ps(v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Vector sub(Vector a, Vector b) { return _mm512_sub_ps(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector div(Vector a, Vector b) { return _mm512_div_ps(a, b); }
  static Vector sqrt(Vector a) { return _mm512_sqrt_ps(a); }
  static Vector max(Vector a, Vector b) { return keep_nan(a, _mm512_max_ps(a, b)); }
  static Vector min(Vector a, Vector b) { return keep_nan(a, _mm512_min_ps(a, b)); }
  static Vector keep_nan(Vector a, Vector other) {
    return _mm512_mask_mov_ps(other, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
  }
  static Vector where_equal(Vector a, Vector b, Vector value) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_UQ), value);
  }
  static float sum(Vector v) {
    const __m256 low = _mm512_castps512_ps256(v), high = _mm512_extractf32x8_ps(v, 1);
    const __m256 eight = _mm256_add_ps(low, high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static void fence() { _mm_sfence(); }
};

struct Avx512BFloat16Format {
  static __m512 widen(__m256i v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
  }
  static __m256i narrow(__m512 v) {
    const __m512i bits = _mm512_castps_si512(v), upper = _mm512_srli_epi32(bits, 16);
    const __m512i is_odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    const __m512i half = _mm512_add_epi32(_mm512_set1_epi32(0x7fff), is_odd);
    const __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    const __m512i words = _mm512_mask_or_epi32(rounded, is_nan, upper, _mm512_set1_epi32(0x40));
    return _mm512_cvtepi32_epi16(words);
  }
};

struct Avx512Float16Format {
  static __m512 widen(__m256i v) { return _mm512_cvtph_ps(v); }
  static __m256i narrow(__m512 v) {
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

struct Avx512Float64 {
  using Vector = __m512d;
  using Scalar = double;
  static constexpr int64_t kLanes = 8, kBytes = 8;
  static Vector fill(double v) { return _mm512_set1_pd(v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  static Vector mul(Vector a, Vector b) { return _mm512_mul_pd(a, b); }
  static Vector div(Vector a, Vector b) { return _mm512_div_pd(a, b); }
  static Vector max(Vector a, Vector b) { return keep_nan(a, _mm512_max_pd(a, b)); }
  static Vector min(Vector a, Vector b) { return keep_nan(a, _mm512_min_pd(a, b)); }
  static Vector keep_nan(Vector a, Vector other) {
    return _mm512_mask_mov_pd(other, _mm512_cmp_pd_mask(a, a, _CMP_UNORD_Q), a);
  }
  static Vector where_equal(Vector a, Vector b, Vector value) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a, b, _CMP_EQ_UQ), value);
  }
  static double sum(Vector v) {
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
  static Vector load(const char* p) { return _mm512_loadu_pd(p); }
  static void store(char* p, Vector v) { _mm512_storeu_pd(p, v); }
  static void stream(char* p, Vector v) { _mm512_stream_pd(reinterpret_cast<double*>(p), v); }
  static void fence() { _mm_sfence(); }
};

using Avx512Lanes =
    RowLanes<Avx512Floats, Avx512Float64, Avx512BFloat16Format, Avx512Float16Format>;

}  // namespace
}  // namespace ramet
