// Gather that decodes 8 elements at a time (halves by F16C's instruction), with streaming stores
// where rows and output consist of whole 64-byte lines, as in gather_avx2.cc.
#include <immintrin.h>

#include "decode_rows.h"
#include "gather.h"

namespace ramet {
namespace {

constexpr int64_t kLanes = 8;

__m256 eight_bits(const char* row, int64_t i) {
  const __m128i values = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + i));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(values));
}

__m128i sixteen_bits(const char* row, int64_t i) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + 2 * i));
}

struct Vectors {
  struct Float16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    __m256 at(int64_t i) const { return _mm256_cvtph_ps(sixteen_bits(row, i)); }
    const char* row = nullptr;
  };

  struct BFloat16 {
    void select(const char* new_row, int64_t) { row = new_row; }
    __m256 at(int64_t i) const {
      const __m256i upper_halves = _mm256_cvtepu16_epi32(sixteen_bits(row, i));
      return _mm256_castsi256_ps(_mm256_slli_epi32(upper_halves, 16));
    }
    const char* row = nullptr;
  };

  struct Int8ScaledByRow {
    explicit Int8ScaledByRow(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t id) {
      row = new_row;
      scale = _mm256_set1_ps(scales[id]);
    }
    __m256 at(int64_t i) const { return _mm256_mul_ps(eight_bits(row, i), scale); }
    const float* scales;
    const char* row = nullptr;
    __m256 scale = _mm256_setzero_ps();
  };

  struct Int8ScaledByColumn {
    explicit Int8ScaledByColumn(const float* its_scales) : scales(its_scales) {}
    void select(const char* new_row, int64_t) { row = new_row; }
    __m256 at(int64_t i) const {
      return _mm256_mul_ps(eight_bits(row, i), _mm256_loadu_ps(scales + i));
    }
    const float* scales;
    const char* row = nullptr;
  };
};

}  // namespace

// The last vector of a row ends with it, and so may write what the one before has written.
int64_t decode_cached_avx2(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  if (width < kLanes) return gather_decoded_portable(args);
  return with_decoder<Vectors>(args, [&](auto decoder) {
    return for_each_decoded(
        args, kLongestRequested, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i + kLanes < width; i += kLanes)
            _mm256_storeu_ps(out + i, row.at(i));
          _mm256_storeu_ps(out + width - kLanes, row.at(width - kLanes));
          out += width;
        });
  });
}

int64_t decode_streamed_avx2(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  const bool whole_lines =
      4 * width % kLine == 0 && reinterpret_cast<uint64_t>(args.rows.out) % kLine == 0;
  if (!whole_lines) return decode_cached_avx2(args);
  return with_decoder<Vectors>(args, [&](auto decoder) {
    const int64_t bad = for_each_decoded(
        args, kAnyLength, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i < width; i += 2 * kLanes) {
            const __m256 low = row.at(i), high = row.at(i + kLanes);
            _mm256_stream_ps(out + i, low);
            _mm256_stream_ps(out + i + kLanes, high);
          }
          out += width;
        });
    _mm_sfence();  // other threads may not see streaming stores before it
    return bad;
  });
}

}  // namespace ramet
