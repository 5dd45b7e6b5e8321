// Bisection, for CPU and GPU.
#pragma once

#include <cstdint>

namespace ramet {

// The first of [low, high) that holds, which all behind it do; `high` where none does.
template <typename Holds>
constexpr int64_t first_where(int64_t low, int64_t high, const Holds& holds) {
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

}  // namespace ramet
