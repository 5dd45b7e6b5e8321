// Keys that lead to chosen random words.
#pragma once

#include <cstdint>

#include "ramet/random.h"

namespace ramet {

// The inverse of absorb(key, value) in its key: which key leads to a chosen draw.
inline uint64_t unabsorb(uint64_t result, uint64_t value) {
  const auto undo_shift = [](uint64_t x, int bits) {
    uint64_t y = x;
    for (int done = bits; done < 64; done += bits)
      y = x ^ (y >> bits);
    return y;
  };
  const auto inverse = [](uint64_t odd) {
    uint64_t x = odd;
    for (int i = 0; i < 6; ++i)
      x *= 2 - odd * x;
    return x;
  };
  uint64_t x = undo_shift(result, 31);
  x = undo_shift(x * inverse(0x94d049bb133111ebULL), 27);
  x = undo_shift(x * inverse(0xbf58476d1ce4e5b9ULL), 30);
  return x - kGolden * (value + 1);
}

}  // namespace ramet
