// Gather that decodes 8 elements at a time (halves by F16C's instruction), with streaming stores
// where rows and output consist of whole 64-byte lines, as in gather_avx2.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "decode_rows.h"
#include "gather.h"
#include "row_lanes_avx2.h"

namespace ramet {
namespace {

int64_t decode_streamed_avx2(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  const bool whole_lines =
      4 * width % kLine == 0 && reinterpret_cast<uint64_t>(args.rows.out) % kLine == 0;
  if (!whole_lines) return decode_cached<Avx2Lanes>(args);
  return with_decoder<Avx2Lanes>(args, [&](auto decoder) {
    const int64_t bad = for_each_decoded(
        args, kAnyLength, decoder,
        [width, out = static_cast<float*>(args.rows.out)](const auto& row) mutable {
          for (int64_t i = 0; i < width; i += 2 * Avx2Floats::kLanes) {
            const __m256 low = row.at(i), high = row.at(i + Avx2Floats::kLanes);
            _mm256_stream_ps(out + i, low);
            _mm256_stream_ps(out + i + Avx2Floats::kLanes, high);
          }
          out += width;
        });
    _mm_sfence();  // other threads may not see streaming stores before it
    return bad;
  });
}

}  // namespace
}  // namespace ramet
