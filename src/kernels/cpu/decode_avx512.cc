// Gather that decodes 16 elements at a time. Whatever an element is, 16 of them become one 64-byte
// line of float32, so that the stream of lines which gathers rows as they are takes these, too:
// the memory reads a half or a quarter of the bytes, and writes each line once.
#include <immintrin.h>

#include "decode_rows.h"
#include "gather.h"
#include "line_stream_avx512.h"

namespace ramet {
namespace {

constexpr int64_t kLanes = 16;

__m512 eight_bits(const char* row, int64_t i) {
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i));
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(values));
}

__m256i sixteen_bits(const char* row, int64_t i) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + 2 * i));
}

struct Vectors {
  struct Float16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    __m512 at(int64_t i) const { return _mm512_cvtph_ps(sixteen_bits(row, i)); }
    const char* row = nullptr;
  };

  struct BFloat16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    __m512 at(int64_t i) const {
      const __m512i upper_halves = _mm512_cvtepu16_epi32(sixteen_bits(row, i));
      return _mm512_castsi512_ps(_mm512_slli_epi32(upper_halves, 16));
    }
    const char* row = nullptr;
  };

  struct Int8ScaledByRow {
    explicit Int8ScaledByRow(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t id) {
      row = new_row;
      scale = _mm512_set1_ps(scales[id]);
    }
    __m512 at(int64_t i) const { return _mm512_mul_ps(eight_bits(row, i), scale); }
    const float* scales;
    const char* row = nullptr;
    __m512 scale = _mm512_setzero_ps();
  };

  struct Int8ScaledByColumn {
    explicit Int8ScaledByColumn(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t) { row = new_row; }
    __m512 at(int64_t i) const {
      return _mm512_mul_ps(eight_bits(row, i), _mm512_loadu_ps(scales + i));
    }
    const float* scales;
    const char* row = nullptr;
  };
};

}  // namespace

// The last vector of a row ends with it, and so may write what the one before has written.
int64_t decode_cached_avx512(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  if (width < kLanes) return gather_decoded_portable(args);
  return with_decoder<Vectors>(args, [&](auto decoder) {
    return for_each_decoded(
        args, kLongestRequested, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i + kLanes < width; i += kLanes)
            _mm512_storeu_ps(out + i, row.at(i));
          _mm512_storeu_ps(out + width - kLanes, row.at(width - kLanes));
          out += width;
        });
  });
}

int64_t decode_streamed_avx512(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  if (width < kLanes) return gather_decoded_portable(args);
  return with_decoder<Vectors>(args, [&](auto decoder) {
    LineStream out(args.rows.out);
    const int64_t bad = for_each_decoded(args, kAnyLength, decoder, [&out, width](const auto& row) {
      const auto line = [&row](int64_t byte) { return _mm512_castps_si512(row.at(byte / 4)); };
      out.append(line, 4 * width);
    });
    out.flush();
    return bad;
  });
}

}  // namespace ramet
