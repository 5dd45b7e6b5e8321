// Gather that decodes 16 elements at a time. Whatever an element is, 16 of them become one 64-byte
// line of float32, so that the stream of lines which gathers rows as they are takes these, too:
// the memory reads a half or a quarter of the bytes, and writes each line once.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "decode_rows.h"
#include "gather.h"
#include "line_stream_avx512.h"

namespace ramet {
namespace {

struct Avx512Decode {
  using Vector = __m512;
  static constexpr int64_t kCount = 16;

  static Vector from_float16(const char* at) { return _mm512_cvtph_ps(load_32_bytes(at)); }
  static Vector from_bfloat16(const char* at) {
    const __m512i upper_halves = _mm512_cvtepu16_epi32(load_32_bytes(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(upper_halves, 16));
  }
  static Vector from_int8(const char* at) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(values));
  }
  static __m256i load_32_bytes(const char* at) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  }

  static Vector load(const float* at) { return _mm512_loadu_ps(at); }
  static void store(float* at, Vector v) { _mm512_storeu_ps(at, v); }
  static Vector fill(float v) { return _mm512_set1_ps(v); }
  static Vector mul(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
};

int64_t decode_cached_avx512(const DecodeArgs& args) {
  return decode_cached<Avx512Decode>(args);
}

int64_t decode_streamed_avx512(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  if (width < Avx512Decode::kCount) return gather_decoded_portable(args);
  return with_decoder<Avx512Decode>(args, [&](auto decoder) {
    LineStream out(args.rows.out);
    const int64_t bad = for_each_decoded(args, kAnyLength, decoder, [&out, width](const auto& row) {
      const auto line = [&row](int64_t byte) { return _mm512_castps_si512(row.at(byte / 4)); };
      out.append(line, 4 * width);
    });
    out.flush();
    return bad;
  });
}

}  // namespace
}  // namespace ramet
