// Numbers for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ramet/random.h"

namespace ramet::test {

// In [0, 1), drawn by `key`.
inline double unit_value(uint64_t key, uint64_t i) {
  return static_cast<double>(absorb(key, i) >> 11) * 0x1p-53;
}

// In [-1, 1).
template <typename T = float>
std::vector<T> drawn_values(int64_t count, uint64_t key) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(2 * unit_value(key, i) - 1);
  return values;
}

}  // namespace ramet::test
