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
  static U32 bit_xor(U32 a, U32 b) { return _mm512_xor_si512(a, b); }
  static U32 even_odd(U32 even, U32 odd) { return _mm512_mask_blend_epi32(0xaaaa, even, odd); }

  static Truth nowhere() { return 0; }
  static Truth is_equal(U32 a, U32 b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static Truth either(Truth a, Truth b) { return static_cast<Truth>(a | b); }
  static U32 select(Truth where, U32 a, U32 b) { return _mm512_mask_blend_epi32(where, b, a); }
  static uint32_t bits(Truth truth) { return truth; }
};

}  // namespace
}  // namespace ramet
