// Gather with streaming stores of whole 64-byte lines, for rows of any width from 64 bytes up: the
// lines are those of line_stream_avx512.h.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "gather.h"
#include "gather_loop.h"
#include "line_stream_avx512.h"

namespace ramet {
namespace {

int64_t gather_streamed_avx512(const GatherArgs& args) {
  if (args.row_bytes < kLine) return gather_cached(args);
  LineStream out(args.out);
  const int64_t bad =
      for_each_row(args, kAnyLength, [&out, row_bytes = args.row_bytes](const char* row, int64_t) {
        out.append([row](int64_t i) { return _mm512_loadu_si512(row + i); }, row_bytes);
      });
  out.flush();
  return bad;
}

}  // namespace
}  // namespace ramet
