// Lanes of AVX2, for kernels that are written over a lanes type (see lanes.h).
//
// Unnamed namespace: every file that includes this is compiled for these instructions, and shares
// nothing with files that are not.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ramet {
namespace {

// lane[mask]: the positions of the set bits of `mask`, ascending.
struct PackedLanes {
  alignas(32) uint32_t lane[256][8] = {};
  constexpr PackedLanes() {
    for (uint32_t mask = 0; mask < 256; ++mask) {
      int size = 0;
      for (uint32_t bit = 0; bit < 8; ++bit) {
        if ((mask >> bit & 1) != 0) lane[mask][size++] = bit;
      }
    }
  }
};
constexpr PackedLanes kPacked;

struct Avx2 {
  using U32 = __m256i;
  using U64 = __m256i;
  using F64 = __m256d;    // as many as of U64
  using F32 = __m256;     // as many as of U32
  using Truth = __m256i;  // all ones or all zeros in each lane
  static constexpr int kCount = 8;

  static U32 load(const void* p) { return _mm256_load_si256(static_cast<const __m256i*>(p)); }
  static void store(void* p, U32 v) { _mm256_store_si256(static_cast<__m256i*>(p), v); }
  static U32 fill32(uint32_t v) { return _mm256_set1_epi32(static_cast<int>(v)); }
  static U64 fill64(uint64_t v) { return _mm256_set1_epi64x(static_cast<long long>(v)); }

  static U32 add32(U32 a, U32 b) { return _mm256_add_epi32(a, b); }
  static U32 min32(U32 a, U32 b) { return _mm256_min_epu32(a, b); }
  static U32 max32(U32 a, U32 b) { return _mm256_max_epu32(a, b); }
  static U64 add64(U64 a, U64 b) { return _mm256_add_epi64(a, b); }
  static U64 mul32(U64 a, U64 b) { return _mm256_mul_epu32(a, b); }  // of the low halves
  static U64 mul64(U64 a, uint64_t b) {  // from 32-bit products; the high one falls out
    const U64 low = mul32(a, fill64(b));
    const U64 cross = add64(mul32(shift_right<32>(a), fill64(b)), mul32(a, fill64(b >> 32)));
    return add64(low, shift_left<32>(cross));
  }

  template <int kBits>
  static U64 shift_left(U64 a) {
    return _mm256_slli_epi64(a, kBits);
  }
  template <int kBits>
  static U64 shift_right(U64 a) {
    return _mm256_srli_epi64(a, kBits);
  }
  static U64 bit_and(U64 a, U64 b) { return _mm256_and_si256(a, b); }
  static U32 bit_xor(U32 a, U32 b) { return _mm256_xor_si256(a, b); }
  static U64 fill_with_sign(U64 a) { return _mm256_cmpgt_epi64(fill64(0), a); }
  static U32 even_odd(U32 even, U32 odd) { return _mm256_blend_epi32(even, odd, 0xaa); }

  static F64 fill_f64(double v) { return _mm256_set1_pd(v); }
  static F64 add_f64(F64 a, F64 b) { return _mm256_add_pd(a, b); }
  static F64 mul_f64(F64 a, F64 b) { return _mm256_mul_pd(a, b); }
  static F64 div_f64(F64 a, F64 b) { return _mm256_div_pd(a, b); }
  static F64 load_f64(const double* p) { return _mm256_loadu_pd(p); }
  static F64 load_f64(const float* p) { return _mm256_cvtps_pd(_mm_loadu_ps(p)); }
  static F64 as_f64(U64 a) { return _mm256_castsi256_pd(a); }
  static U64 as_u64(F64 a) { return _mm256_castpd_si256(a); }
  // out[i]: table[row + i] for each row. A load for each, and transposing, which is faster than a
  // gather for each i.
  static void load_rows_of_4(const double* table, U64 row, F64 (&out)[4]) {
    alignas(32) uint64_t first[4];
    store(first, row);
    const F64 a = load_f64(table + first[0]), b = load_f64(table + first[1]);
    const F64 c = load_f64(table + first[2]), d = load_f64(table + first[3]);
    const F64 low = _mm256_unpacklo_pd(a, b), low_next = _mm256_unpacklo_pd(c, d);
    const F64 high = _mm256_unpackhi_pd(a, b), high_next = _mm256_unpackhi_pd(c, d);
    out[0] = _mm256_permute2f128_pd(low, low_next, 0x20);
    out[1] = _mm256_permute2f128_pd(high, high_next, 0x20);
    out[2] = _mm256_permute2f128_pd(low, low_next, 0x31);
    out[3] = _mm256_permute2f128_pd(high, high_next, 0x31);
  }
  // table[row[i]] in each lane i; by single loads, which some processors do much faster than a
  // gather.
  template <typename Index>
  static F64 load_f64(const double* table, const Index* row) {
    return _mm256_setr_pd(table[row[0]], table[row[1]], table[row[2]], table[row[3]]);
  }
  template <typename Index>
  static F64 load_f64(const float* table, const Index* row) {
    return _mm256_cvtps_pd(_mm_setr_ps(table[row[0]], table[row[1]], table[row[2]], table[row[3]]));
  }

  static F32 fill_f32(float v) { return _mm256_set1_ps(v); }
  static F32 add_f32(F32 a, F32 b) { return _mm256_add_ps(a, b); }
  static F32 mul_f32(F32 a, F32 b) { return _mm256_mul_ps(a, b); }
  static F32 load_f32(const float* p) { return _mm256_loadu_ps(p); }
  // The first `count`, and then 0.
  static F32 load_f32(const float* p, int count) {
    return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(count), iota32()));
  }
  static F64 load_f64(const double* p, int count) {
    const U64 inside =
        _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_maskload_pd(p, inside);
  }
  static F32 narrow_f32(F64 low, F64 high) {
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
  }
  static U32 as_u32(F32 a) { return _mm256_castps_si256(a); }
  static void store_f32(float* p, F32 a) { _mm256_store_ps(p, a); }
  // The sums of lanes 0 to i, in each lane i, and lane kCount / 2 - 1 in all lanes.
  static F64 running_f64(F64 a) {
    const F64 zero = _mm256_setzero_pd();
    a = add_f64(a, _mm256_blend_pd(_mm256_permute4x64_pd(a, _MM_SHUFFLE(2, 1, 0, 0)), zero, 1));
    return add_f64(a, _mm256_permute2f128_pd(a, a, 0x08));
  }
  static F64 last_f64(F64 a) { return _mm256_permute4x64_pd(a, _MM_SHUFFLE(3, 3, 3, 3)); }
  static void store_f64(double* p, F64 a) { _mm256_storeu_pd(p, a); }
  // word >> 33 of the words of both.
  static U32 upper31(U64 low, U64 high) {
    const __m256 odd = _mm256_shuffle_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high),
                                         _MM_SHUFFLE(3, 1, 3, 1));
    const U32 top = _mm256_permute4x64_epi64(as_u32(odd), _MM_SHUFFLE(3, 1, 2, 0));
    return _mm256_srli_epi32(top, 1);
  }
  static F32 float_of31(U32 a) { return _mm256_cvtepi32_ps(a); }
  static U32 exponent_and_half(F32 a) { return _mm256_srli_epi32(as_u32(a), 22); }
  // A bit for each 32-bit lane with a < b.
  static uint32_t less_f32(F32 a, F32 b) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_LT_OQ)));
  }

  // 32 values, of which of() gives the one that the lower 5 bits of each lane are the number of.
  struct Table32 {
    explicit Table32(const uint32_t* p) {
      for (int i = 0; i < 4; ++i)
        eight[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8 * i));
    }
    [[nodiscard]] U32 of(U32 number) const {
      const F32 by_bit3 = _mm256_castsi256_ps(_mm256_slli_epi32(number, 28));
      const F32 by_bit4 = _mm256_castsi256_ps(_mm256_slli_epi32(number, 27));
      const auto eighth = [&](int i) {
        return _mm256_castsi256_ps(_mm256_permutevar8x32_epi32(eight[i], number));
      };
      const F32 low = _mm256_blendv_ps(eighth(0), eighth(1), by_bit3);
      const F32 high = _mm256_blendv_ps(eighth(2), eighth(3), by_bit3);
      return _mm256_castps_si256(_mm256_blendv_ps(low, high, by_bit4));
    }
    U32 eight[4];
  };

  static Truth nowhere() { return _mm256_setzero_si256(); }
  static Truth is_equal(U32 a, U32 b) { return _mm256_cmpeq_epi32(a, b); }
  static Truth either(Truth a, Truth b) { return _mm256_or_si256(a, b); }
  static U32 select(Truth where, U32 a, U32 b) { return _mm256_blendv_epi8(b, a, where); }
  static uint32_t bits(Truth truth) {
    return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(truth)));
  }

  // Ids as 64-bit lanes, half as many as kCount; those of 32 and 16 bits without a sign. The second
  // form reads the first `count` of them alone.
  static U64 load_ids(const int32_t* ids) {
    return _mm256_cvtepu32_epi64(_mm_loadu_si128(reinterpret_cast<const __m128i*>(ids)));
  }
  static U64 load_ids(const int64_t* ids) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(ids));
  }
  static U64 load_ids(const uint16_t* ids) {
    return _mm256_cvtepu16_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(ids)));
  }
  static U64 load_ids(const int32_t* ids, int count) {
    const __m128i inside = _mm_cmpgt_epi32(_mm_set1_epi32(count), _mm_setr_epi32(0, 1, 2, 3));
    return _mm256_cvtepu32_epi64(_mm_maskload_epi32(ids, inside));
  }
  static U64 load_ids(const int64_t* ids, int count) {
    const U64 inside =
        _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
    return _mm256_maskload_epi64(reinterpret_cast<const long long*>(ids), inside);
  }
  static U64 load_ids(const uint16_t* ids, int count) {
    uint16_t inside[4] = {};
    for (int i = 0; i < 4 && i < count; ++i)
      inside[i] = ids[i];
    return load_ids(inside);
  }

  // Values of 16 bits, 2 * kCount. The second form reads the first `count` of them alone.
  static U32 load16(const uint16_t* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  }
  static U32 load16(const uint16_t* p, int count) {
    alignas(32) uint16_t inside[16] = {};
    for (int i = 0; i < count; ++i)
      inside[i] = p[i];
    return load(inside);
  }
  static U32 fill16(uint16_t v) { return _mm256_set1_epi16(static_cast<short>(v)); }
  // A bit for each with v - first <= width.
  static uint32_t within16(U32 v, U32 first, U32 width) {
    const U32 shifted = _mm256_sub_epi16(v, first);
    return bits16(_mm256_cmpeq_epi16(_mm256_min_epu16(shifted, width), shifted));
  }
  // Of those that are `a` or `b`.
  static uint32_t equal_either16(U32 v, U32 a, U32 b) {
    return bits16(either(_mm256_cmpeq_epi16(v, a), _mm256_cmpeq_epi16(v, b)));
  }

  // A bit for each 64-bit lane.
  static uint32_t at_most(U64 a, U64 b) {
    return 0xfU & ~static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(above(a, b))));
  }
  static uint32_t at_most_f64(F64 a, F64 b) {
    return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_cmp_pd(a, b, _CMP_LE_OQ)));
  }
  // counts + (a < b ? 1 : 0)
  static U64 count_less(U64 counts, F64 a, F64 b) {
    return _mm256_sub_epi64(counts, as_u64(_mm256_cmp_pd(a, b, _CMP_LT_OQ)));
  }
  static U32 iota32() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  // Writes the lanes of `v` that `mask` has side by side, and anything after them, kCount lanes in
  // all; returns how many these are.
  static int pack(uint32_t* out, uint32_t mask, U32 v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out),
                        _mm256_permutevar8x32_epi32(v, load(kPacked.lane[mask & 0xff])));
    return __builtin_popcount(mask);
  }
  // The same with the low halves of the 64-bit lanes, half as many.
  static int pack_low(uint32_t* out, uint32_t mask, U64 v) {
    const U32 low = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 0, 0, 0, 0));
    const U32 packed = _mm256_permutevar8x32_epi32(low, load(kPacked.lane[mask & 0xf]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(packed));
    return __builtin_popcount(mask);
  }

 private:
  static uint32_t bits16(U32 truth) {
    return static_cast<uint32_t>(_mm_movemask_epi8(
        _mm_packs_epi16(_mm256_castsi256_si128(truth), _mm256_extracti128_si256(truth, 1))));
  }
  static U64 above(U64 a, U64 b) {
    const U64 sign = fill64(uint64_t{1} << 63);  // there is a comparison of signed numbers alone
    return _mm256_cmpgt_epi64(bit_xor(a, sign), bit_xor(b, sign));
  }
};

}  // namespace
}  // namespace ramet
