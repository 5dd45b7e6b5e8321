// stream_write() where there are no non-temporal stores: large memsets of C libraries come close.
#include <cstring>

#include "memory.h"

namespace ramet::bench {

void stream_write(void* out, size_t bytes) {
  std::memset(out, 1, bytes);
}

}  // namespace ramet::bench
