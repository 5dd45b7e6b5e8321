// Gather that decodes 8 elements at a time (halves by F16C's instruction), with streaming stores
// where rows and output consist of whole 64-byte lines, as in gather_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "decode_rows.h"
#include "gather.h"

namespace ramet {
namespace {

struct Avx2Decode {
  using Vector = __m256;
  static constexpr int64_t kCount = 8;

  static Vector from_float16(const char* at) { return _mm256_cvtph_ps(load_16_bytes(at)); }
  static Vector from_bfloat16(const char* at) {
    const __m256i upper_halves = _mm256_cvtepu16_epi32(load_16_bytes(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(upper_halves, 16));
  }
  static Vector from_int8(const char* at) {
    const __m128i values = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(values));
  }
  static __m128i load_16_bytes(const char* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  }

  static Vector load(const float* at) { return _mm256_loadu_ps(at); }
  static void store(float* at, Vector v) { _mm256_storeu_ps(at, v); }
  static Vector fill(float v) { return _mm256_set1_ps(v); }
  static Vector mul(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
};

int64_t decode_cached_avx2(const DecodeArgs& args) {
  return decode_cached<Avx2Decode>(args);
}

int64_t decode_streamed_avx2(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  const bool whole_lines =
      4 * width % kLine == 0 && reinterpret_cast<uint64_t>(args.rows.out) % kLine == 0;
  if (!whole_lines) return decode_cached_avx2(args);
  return with_decoder<Avx2Decode>(args, [&](auto decoder) {
    const int64_t bad = for_each_decoded(
        args, kAnyLength, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i < width; i += 2 * Avx2Decode::kCount) {
            const __m256 low = row.at(i), high = row.at(i + Avx2Decode::kCount);
            _mm256_stream_ps(out + i, low);
            _mm256_stream_ps(out + i + Avx2Decode::kCount, high);
          }
          out += width;
        });
    _mm_sfence();  // other threads may not see streaming stores before it
    return bad;
  });
}

}  // namespace
}  // namespace ramet
