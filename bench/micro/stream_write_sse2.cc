// stream_write() with the non-temporal stores that every x86-64 has. They are combined to whole
// lines before they leave the core, so their width does not matter.
#include <emmintrin.h>

#include "memory.h"

namespace ramet::bench {

void stream_write(void* out, size_t bytes) {
  auto* const words = static_cast<__m128i*>(out);
  const __m128i value = _mm_set1_epi8(1);
  for (size_t i = 0; i < bytes / sizeof(__m128i); ++i)
    _mm_stream_si128(words + i, value);
  _mm_sfence();
}

}  // namespace ramet::bench
