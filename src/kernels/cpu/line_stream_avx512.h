// LineStream: rows of any width from 64 bytes up, one behind the other, by streaming stores of
// whole 64-byte lines.
//
// Only a store of a whole line spares the read of it, but lines of the output need not begin where
// rows do. So a line that two rows share is joined in registers: the last 64 bytes of the one and
// the first 64 of the other, shifted as one 128-byte number (a funnel shift). Lines inside a row
// are taken from it at any position and streamed. No load leaves its row, not even a masked one:
// the line beyond would have to come from memory. The first and the last line of the output may be
// shared with a neighbour's, whose bytes are left alone: ordinary masked stores. In an unnamed
// namespace, so that each file has its own copy, compiled for the instructions of that file.
#pragma once

#include <immintrin.h>

#include "gather_loop.h"

namespace ramet {
namespace {

// Bits [0, n) for 0 <= n <= 64.
__mmask64 low_bits(int64_t n) {
  return n < kLine ? (uint64_t{1} << n) - 1 : ~uint64_t{0};
}

// Bytes [begin, begin + 64) of the 128 bytes low, high; 0 <= begin <= 64. The instruction permutes
// pairs of bytes; an odd shift takes one byte each of two neighbouring pairs.
__m512i funnel(__m512i low, __m512i high, int64_t begin) {
  alignas(kLine) static constexpr int16_t kPairs[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                        11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                                        22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  const __m512i first = _mm512_set1_epi16(static_cast<int16_t>(begin / 2));
  const __m512i pairs = _mm512_add_epi16(_mm512_load_si512(kPairs), first);
  const __m512i even = _mm512_permutex2var_epi16(low, pairs, high);
  if (begin % 2 == 0) return even;
  const __m512i next_pairs = _mm512_add_epi16(pairs, _mm512_set1_epi16(1));
  const __m512i next = _mm512_permutex2var_epi16(low, next_pairs, high);
  return _mm512_or_si512(_mm512_srli_epi16(even, 8), _mm512_slli_epi16(next, 8));
}

// The output, as the line that is being filled.
class LineStream {
 public:
  explicit LineStream(void* out)
      : filled_(static_cast<int64_t>(reinterpret_cast<uint64_t>(out) % kLine)),
        line_(static_cast<char*>(out) - filled_),
        own_(~low_bits(filled_)) {}

  // `row(i)` gives bytes [i, i + 64) of the `row_bytes` bytes to append, at least 64.
  template <typename Row>
  void append(const Row& row, int64_t row_bytes) {
    int64_t i = 0;
    if (filled_ > 0) {
      i = kLine - filled_;
      finish_shared(funnel(last_, row(0), i));
    }
    for (; row_bytes - i >= kLine; i += kLine, line_ += kLine)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(line_), row(i));
    filled_ = row_bytes - i;
    last_ = row(row_bytes - kLine);
  }

  void flush() {
    const __m512i bytes = funnel(last_, last_, kLine - filled_);
    _mm512_mask_storeu_epi8(line_, own_ & low_bits(filled_), bytes);
    _mm_sfence();  // other threads may not see streaming stores before it
  }

 private:
  void finish_shared(__m512i bytes) {
    if (own_ == low_bits(kLine))
      _mm512_stream_si512(reinterpret_cast<__m512i*>(line_), bytes);
    else
      _mm512_mask_storeu_epi8(line_, own_, bytes);
    own_ = low_bits(kLine);
    line_ += kLine;
  }

  int64_t filled_;  // bytes of the line that are there: they are the end of last_
  char* line_;
  __mmask64 own_;  // bytes that are ours to write: not all of the first line
  __m512i last_ = _mm512_setzero_si512();  // the end of the row before
};

}  // namespace
}  // namespace ramet
