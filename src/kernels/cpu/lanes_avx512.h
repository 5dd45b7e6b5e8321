// Lanes of AVX-512 F, BW, DQ and VL, for kernels that are written over a lanes type (see lanes.h).
//
// Unnamed namespace: every file that includes this is compiled for these instructions, and shares
// nothing with files that are not.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ramet {
namespace {

struct Avx512 {
  using U32 = __m512i;
  using U64 = __m512i;
  using F64 = __m512d;  // as many as of U64
  using F32 = __m512;   // as many as of U32
  using Truth = __mmask16;
  static constexpr int kCount = 16;

  static U32 load(const void* p) { return _mm512_load_si512(p); }
  static void store(void* p, U32 v) { _mm512_store_si512(p, v); }
  static U32 fill32(uint32_t v) { return _mm512_set1_epi32(static_cast<int>(v)); }
  static U64 fill64(uint64_t v) { return _mm512_set1_epi64(static_cast<long long>(v)); }

  static U32 add32(U32 a, U32 b) { return _mm512_add_epi32(a, b); }
  static U32 min32(U32 a, U32 b) { return _mm512_min_epu32(a, b); }
  static U32 max32(U32 a, U32 b) { return _mm512_max_epu32(a, b); }
  static U64 add64(U64 a, U64 b) { return _mm512_add_epi64(a, b); }
  static U64 mul64(U64 a, uint64_t b) { return _mm512_mullo_epi64(a, fill64(b)); }
  static U64 mul32(U64 a, U64 b) { return _mm512_mul_epu32(a, b); }  // of the low halves

  template <int kBits>
  static U64 shift_left(U64 a) {
    return _mm512_slli_epi64(a, kBits);
  }
  template <int kBits>
  static U64 shift_right(U64 a) {
    return _mm512_srli_epi64(a, kBits);
  }
  static U64 bit_and(U64 a, U64 b) { return _mm512_and_si512(a, b); }
  static U32 bit_xor(U32 a, U32 b) { return _mm512_xor_si512(a, b); }
  static U64 fill_with_sign(U64 a) { return _mm512_srai_epi64(a, 63); }
  static U32 even_odd(U32 even, U32 odd) { return _mm512_mask_blend_epi32(0xaaaa, even, odd); }

  static F64 fill_f64(double v) { return _mm512_set1_pd(v); }
  static F64 add_f64(F64 a, F64 b) { return _mm512_add_pd(a, b); }
  static F64 mul_f64(F64 a, F64 b) { return _mm512_mul_pd(a, b); }
  static F64 div_f64(F64 a, F64 b) { return _mm512_div_pd(a, b); }
  static F64 load_f64(const double* p) { return _mm512_loadu_pd(p); }
  static F64 load_f64(const float* p) { return _mm512_cvtps_pd(_mm256_loadu_ps(p)); }
  static F64 as_f64(U64 a) { return _mm512_castsi512_pd(a); }
  static U64 as_u64(F64 a) { return _mm512_castpd_si512(a); }
  // out[i]: table[row + i] for each row. A load for each, and transposing, which is faster than a
  // gather for each i.
  static void load_rows_of_4(const double* table, U64 row, F64 (&out)[4]) {
    alignas(64) uint64_t first[8];
    store(first, row);
    const auto both = [&](int lane) {
      return _mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(table + first[lane])),
                                _mm256_loadu_pd(table + first[lane + 4]), 1);
    };
    const F64 a = both(0), b = both(1), c = both(2), d = both(3);
    const U64 even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    const U64 odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    const F64 low = _mm512_unpacklo_pd(a, b), low_next = _mm512_unpacklo_pd(c, d);
    const F64 high = _mm512_unpackhi_pd(a, b), high_next = _mm512_unpackhi_pd(c, d);
    out[0] = _mm512_permutex2var_pd(low, even, low_next);
    out[1] = _mm512_permutex2var_pd(high, even, high_next);
    out[2] = _mm512_permutex2var_pd(low, odd, low_next);
    out[3] = _mm512_permutex2var_pd(high, odd, high_next);
  }
  // table[row[i]] in each lane i; by single loads, which some processors do much faster than a
  // gather.
  template <typename Index>
  static F64 load_f64(const double* table, const Index* row) {
    return _mm512_setr_pd(table[row[0]], table[row[1]], table[row[2]], table[row[3]], table[row[4]],
                          table[row[5]], table[row[6]], table[row[7]]);
  }
  template <typename Index>
  static F64 load_f64(const float* table, const Index* row) {
    return _mm512_cvtps_pd(_mm256_setr_ps(table[row[0]], table[row[1]], table[row[2]],
                                          table[row[3]], table[row[4]], table[row[5]],
                                          table[row[6]], table[row[7]]));
  }

  static F32 fill_f32(float v) { return _mm512_set1_ps(v); }
  static F32 add_f32(F32 a, F32 b) { return _mm512_add_ps(a, b); }
  static F32 mul_f32(F32 a, F32 b) { return _mm512_mul_ps(a, b); }
  static F32 load_f32(const float* p) { return _mm512_loadu_ps(p); }
  // The first `count`, and then 0.
  static F32 load_f32(const float* p, int count) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1U << count) - 1), p);
  }
  static F64 load_f64(const double* p, int count) { return _mm512_maskz_loadu_pd(first(count), p); }
  static F32 narrow_f32(F64 low, F64 high) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high),
                              1);
  }
  static U32 as_u32(F32 a) { return _mm512_castps_si512(a); }
  static void store_f32(float* p, F32 a) { _mm512_store_ps(p, a); }
  // The sums of lanes 0 to i, in each lane i, and lane kCount / 2 - 1 in all lanes.
  static F64 running_f64(F64 a) {
    const U64 zero = _mm512_setzero_si512();
    a = add_f64(a, as_f64(_mm512_alignr_epi64(as_u64(a), zero, 7)));
    a = add_f64(a, as_f64(_mm512_alignr_epi64(as_u64(a), zero, 6)));
    return add_f64(a, as_f64(_mm512_alignr_epi64(as_u64(a), zero, 4)));
  }
  static F64 last_f64(F64 a) { return _mm512_permutexvar_pd(_mm512_set1_epi64(7), a); }
  static void store_f64(double* p, F64 a) { _mm512_storeu_pd(p, a); }
  // word >> 33 of the words of both.
  static U32 upper31(U64 low, U64 high) {
    const U32 odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_srli_epi32(_mm512_permutex2var_epi32(low, odd, high), 1);
  }
  static F32 float_of31(U32 a) { return _mm512_cvtepi32_ps(a); }
  static U32 exponent_and_half(F32 a) { return _mm512_srli_epi32(as_u32(a), 22); }
  // A bit for each 32-bit lane with a < b.
  static uint32_t less_f32(F32 a, F32 b) { return widened(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)); }

  // 32 values, of which of() gives the one that the lower 5 bits of each lane are the number of.
  struct Table32 {
    explicit Table32(const uint32_t* p)
        : low(_mm512_loadu_si512(p)), high(_mm512_loadu_si512(p + 16)) {}
    [[nodiscard]] U32 of(U32 number) const { return _mm512_permutex2var_epi32(low, number, high); }
    U32 low, high;
  };

  static Truth nowhere() { return 0; }
  static Truth is_equal(U32 a, U32 b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static Truth either(Truth a, Truth b) { return static_cast<Truth>(a | b); }
  static U32 select(Truth where, U32 a, U32 b) { return _mm512_mask_blend_epi32(where, b, a); }
  static uint32_t bits(Truth truth) { return widened(truth); }

  // Ids as 64-bit lanes, half as many as kCount; those of 32 and 16 bits without a sign. The second
  // form reads the first `count` of them alone.
  static U64 load_ids(const int32_t* ids) {
    return _mm512_cvtepu32_epi64(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids)));
  }
  static U64 load_ids(const int64_t* ids) { return _mm512_loadu_si512(ids); }
  static U64 load_ids(const uint16_t* ids) {
    return _mm512_cvtepu16_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(ids)));
  }
  static U64 load_ids(const int32_t* ids, int count) {
    return _mm512_cvtepu32_epi64(_mm256_maskz_loadu_epi32(first(count), ids));
  }
  static U64 load_ids(const int64_t* ids, int count) {
    return _mm512_maskz_loadu_epi64(first(count), ids);
  }
  static U64 load_ids(const uint16_t* ids, int count) {
    return _mm512_cvtepu16_epi64(_mm_maskz_loadu_epi16(first(count), ids));
  }
  // Values of 16 bits, 2 * kCount. The second form reads the first `count` of them alone.
  static U32 load16(const uint16_t* p) { return _mm512_loadu_si512(p); }
  static U32 load16(const uint16_t* p, int count) {
    return _mm512_maskz_loadu_epi16((1U << count) - 1, p);
  }
  static U32 fill16(uint16_t v) { return _mm512_set1_epi16(static_cast<short>(v)); }
  // A bit for each with v - first <= width.
  static uint32_t within16(U32 v, U32 first, U32 width) {
    return widened(_mm512_cmple_epu16_mask(_mm512_sub_epi16(v, first), width));
  }
  // Of those that are `a` or `b`.
  static uint32_t equal_either16(U32 v, U32 a, U32 b) {
    return widened(_mm512_cmpeq_epi16_mask(v, a) | _mm512_cmpeq_epi16_mask(v, b));
  }
  // A mask as a number, in a general register from here on: GCC 12 may store the 8 bits of a mask
  // register, and later load 32.
  static uint32_t widened(uint32_t mask) {
    asm("" : "+r"(mask));
    return mask;
  }
  static __mmask8 first(int count) {
    return static_cast<__mmask8>(count < 8 ? (1 << count) - 1 : 0xff);
  }

  // A bit for each 64-bit lane.
  static uint32_t at_most(U64 a, U64 b) { return widened(_mm512_cmple_epu64_mask(a, b)); }
  static uint32_t at_most_f64(F64 a, F64 b) {
    return widened(_mm512_cmp_pd_mask(a, b, _CMP_LE_OQ));
  }
  // counts + (a < b ? 1 : 0)
  static U64 count_less(U64 counts, F64 a, F64 b) {
    return _mm512_mask_add_epi64(counts, _mm512_cmp_pd_mask(a, b, _CMP_LT_OQ), counts, fill64(1));
  }
  static U32 iota32() {
    return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
  // Writes the lanes of `v` that `mask` has side by side, and anything after them, kCount lanes in
  // all; returns how many these are.
  static int pack(uint32_t* out, uint32_t mask, U32 v) {
    const auto lanes = static_cast<__mmask16>(mask);
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32(lanes, v));
    return __builtin_popcount(mask);
  }
  // The same with the low halves of the 64-bit lanes, half as many.
  static int pack_low(uint32_t* out, uint32_t mask, U64 v) {
    const auto lanes = static_cast<__mmask8>(mask);
    const __m256i packed = _mm256_maskz_compress_epi32(lanes, _mm512_cvtepi64_epi32(v));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), packed);
    return __builtin_popcount(mask);
  }
};

}  // namespace
}  // namespace ramet
