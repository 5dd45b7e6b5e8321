// prefetch: asks for memory that is read at random a chunk of work later.
#pragma once

namespace ramet {

// Into the second-level cache: it has room for several times as many requests under way as the
// first, which is what bounds one thread.
inline void prefetch(const void* address) {
  __builtin_prefetch(address, 0, 2);
  asm volatile("");  // GCC drops calls of functions that do nothing but prefetch
}

}  // namespace ramet
