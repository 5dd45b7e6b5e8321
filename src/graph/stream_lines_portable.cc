// Processors whose non-temporal stores we do not use: ordinary stores, ordered as all are.
#include <cstring>

#include "stream_lines.h"

namespace ramet {

void stream_lines(void* to, const void* from, size_t lines) {
  std::memcpy(to, from, lines * kLineBytes);
}

void stream_fence() {}

}  // namespace ramet
