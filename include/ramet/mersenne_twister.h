// Skips numbers of a Mersenne Twister, such as torch's CPU generator.
//
// Memory: the caller's. Threads and forks: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ramet {

// MT19937 between two numbers: `next` words of `words` are used; 624: a twist comes next.
struct MersenneTwister {
  static constexpr size_t kWords = 624;

  std::array<uint32_t, kWords> words;
  size_t next = kWords;

  // As if `count` numbers of 32 bits had been drawn. They are not computed: 0.3 ns for each.
  void skip(uint64_t count);
};

}  // namespace ramet
