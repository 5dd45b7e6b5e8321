// MT19937 (Matsumoto, Nishimura, "Mersenne Twister: a 623-dimensionally equidistributed uniform
// pseudo-random number generator", ACM TOMACS 8, 1998). A twist renews all 624 words; drawing a
// number tempers one of them, which skipping leaves out. Word i needs the words i + 1 and i + 397,
// so compilers make vector code of each loop.
#include "ramet/mersenne_twister.h"

#include <algorithm>

namespace ramet {
namespace {

constexpr size_t kShift = 397;

uint32_t mix(uint32_t word, uint32_t following) {
  const uint32_t joined = (word & 0x80000000u) | (following & 0x7fffffffu);
  return (joined >> 1) ^ (-(joined & 1u) & 0x9908b0dfu);
}

void twist(std::array<uint32_t, MersenneTwister::kWords>& words) {
  constexpr size_t kWords = MersenneTwister::kWords;
  for (size_t i = 0; i < kWords - kShift; ++i)
    words[i] = words[i + kShift] ^ mix(words[i], words[i + 1]);
  for (size_t i = kWords - kShift; i < kWords - 1; ++i)
    words[i] = words[i + kShift - kWords] ^ mix(words[i], words[i + 1]);
  words[kWords - 1] = words[kShift - 1] ^ mix(words[kWords - 1], words[0]);
}

}  // namespace

void MersenneTwister::skip(uint64_t count) {
  while (count > 0) {
    if (next == kWords) {
      twist(words);
      next = 0;
    }
    const uint64_t taken = std::min<uint64_t>(count, kWords - next);
    next += taken;
    count -= taken;
  }
}

}  // namespace ramet
