// Which values of a list lie in a range: times that a seed allows, say, or their codes.
#pragma once

#include <cstdint>

namespace ramet {

// Kernels write up to so many entries more than they find.
inline constexpr int64_t kWithinPadding = 16;

// Writes the numbers of the values in first .. last to `found`, ascending, and returns how many
// there are. first <= last. Of `count` values, fewer than 2^32; `found` has room for
// count + kWithinPadding. Value: int64_t, uint16_t.
template <typename Value>
using FindWithin =
    int64_t (*)(Value first, Value last, const Value* values, int64_t count, uint32_t* found);

struct Within {
  FindWithin<int64_t> of64 = nullptr;
  FindWithin<uint16_t> of16 = nullptr;
  // Whether any of `count` values is `value`.
  bool (*has16)(uint16_t value, const uint16_t* values, int64_t count) = nullptr;

  int64_t operator()(int64_t a, int64_t b, const int64_t* v, int64_t n, uint32_t* found) const {
    return of64(a, b, v, n, found);
  }
  int64_t operator()(uint16_t a, uint16_t b, const uint16_t* v, int64_t n, uint32_t* found) const {
    return of16(a, b, v, n, found);
  }
};

[[nodiscard]] Within within_portable();

}  // namespace ramet
