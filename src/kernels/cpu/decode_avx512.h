// Gather that decodes 16 elements at a time. Whatever an element is, 16 of them become one 64-byte
// line of float32, so that the stream of lines which gathers rows as they are takes these, too:
// the memory reads a half or a quarter of the bytes, and writes each line once.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "decode_rows.h"
#include "gather.h"
#include "line_stream_avx512.h"
#include "row_lanes_avx512.h"

namespace ramet {
namespace {

int64_t decode_streamed_avx512(const DecodeArgs& args) {
  const int64_t width = row_elements(args);
  if (width < Avx512Floats::kLanes) return gather_decoded_portable(args);
  return with_decoder<Avx512Lanes>(args, [&](auto decoder) {
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
