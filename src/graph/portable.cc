// Stands in for vector code where the build's processor has none of these instructions: ordinary
// stores, ordered as all are, for lines of memory.
#include <cstring>

#include "bit_rank.h"
#include "stream_lines.h"

namespace ramet {

const BitRankKernels* bit_rank_avx2() {
  return nullptr;
}

void stream_lines(void* to, const void* from, size_t lines) {
  std::memcpy(to, from, lines * kLineBytes);
}

void stream_fence() {}

}  // namespace ramet
