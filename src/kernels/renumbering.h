// Renumbering: local ids of a relation's sources that become others, where ranks cooperate.
#pragma once

#include <cstdint>

namespace ramet {

// Of a number n, m = (n ^ flip) - first. Where m >= 0, n becomes (base + at[m]) ^ flip_result. With
// -1 a flip turns a number into its complement.
struct Renumbering {
  const int32_t* at = nullptr;
  int64_t size = 0;  // of `at`
  int32_t flip = 0, first = 0, base = 0, flip_result = 0;

  [[nodiscard]] constexpr int32_t of(int32_t n) const {
    // Not a branch: on the CPU, where `size` is not 0, whether m is negative is as good as random.
    const int32_t m = (n ^ flip) - first;
    const int32_t renumbered = (base + at[m < 0 ? 0 : m]) ^ flip_result;
    return m < 0 ? n : renumbered;
  }
};

}  // namespace ramet
