// Gather with streaming stores of 64-byte lines, in two halves, for rows and outputs that consist
// of whole lines.
//
// The processor joins the halves if they follow each other at once. Joining lines that two rows
// share takes shifts that these instructions lack (gather_avx512.h); by way of memory it costs
// what streaming gains, so other rows get ordinary stores.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "gather.h"
#include "gather_loop.h"

namespace ramet {
namespace {

int64_t gather_streamed_avx2(const GatherArgs& args) {
  const bool whole_lines =
      args.row_bytes % kLine == 0 && reinterpret_cast<uint64_t>(args.out) % kLine == 0;
  if (!whole_lines) return gather_cached(args);
  auto* out = static_cast<__m256i*>(args.out);
  const int64_t bad =
      for_each_row(args, kAnyLength, [&out, end = args.row_bytes](const char* row, int64_t) {
        for (const char* const row_end = row + end; row < row_end; row += kLine, out += 2) {
          const auto* halves = reinterpret_cast<const __m256i*>(row);
          const __m256i low = _mm256_loadu_si256(halves);
          const __m256i high = _mm256_loadu_si256(halves + 1);
          _mm256_stream_si256(out, low);
          _mm256_stream_si256(out + 1, high);
        }
      });
  _mm_sfence();  // other threads may not see streaming stores before it
  return bad;
}

}  // namespace
}  // namespace ramet
