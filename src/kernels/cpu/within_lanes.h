// within.h with a value per 64-bit lane, or per 16-bit lane; see lanes.h for `L`.
#pragma once

#include <cstdint>

#include "labor_lanes.h"
#include "within.h"

namespace ramet {

// One comparison without signs is enough: what is before the first wraps around.
template <typename L>
struct WithinLanes {
  using U64 = typename L::U64;

  [[nodiscard]] uint32_t accepted(U64 value) const {
    return L::at_most(L::add64(value, minus_first), width);
  }

  U64 minus_first, width;
};

template <typename L>
int64_t find_within64(
    int64_t first, int64_t last, const int64_t* values, int64_t count, uint32_t* found) {
  const auto low = static_cast<uint64_t>(first);
  const WithinLanes<L> lanes{L::fill64(0 - low), L::fill64(static_cast<uint64_t>(last) - low)};
  return pack_accepted<L>(lanes, values, count, found);
}

// Calls body(mask) for 2 * L::kCount values after another, with a bit for each in the range.
template <typename L, typename Body>
[[gnu::always_inline]] inline void for_each_mask16(
    uint16_t first, uint16_t last, const uint16_t* values, int64_t count, const Body& body) {
  constexpr int kTogether = 2 * L::kCount;
  const auto low = L::fill16(first), width = L::fill16(static_cast<uint16_t>(last - first));
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether)
    body(L::within16(L::load16(values + i), low, width));
  const int left = static_cast<int>(count - i);
  if (left == 0) return;
  const uint32_t inside = (1U << left) - 1;
  body(inside & L::within16(L::load16(values + i, left), low, width));
}

template <typename L>
int64_t find_within16(
    uint16_t first, uint16_t last, const uint16_t* values, int64_t count, uint32_t* found) {
  constexpr uint32_t kHalf = (1U << L::kCount) - 1;
  const auto step = L::fill32(L::kCount);
  auto number = L::iota32();
  uint32_t* out = found;
  for_each_mask16<L>(first, last, values, count, [&](uint32_t mask) {
    out += L::pack(out, mask & kHalf, number);
    number = L::add32(number, step);
    out += L::pack(out, mask >> L::kCount, number);
    number = L::add32(number, step);
  });
  return out - found;
}

template <typename L>
bool has16_lanes(uint16_t value, const uint16_t* values, int64_t count) {
  uint32_t any = 0;
  for_each_mask16<L>(value, value, values, count, [&](uint32_t mask) { any |= mask; });
  return any != 0;
}

template <typename L>
Within within_lanes() {
  return {find_within64<L>, find_within16<L>, has16_lanes<L>};
}

}  // namespace ramet
