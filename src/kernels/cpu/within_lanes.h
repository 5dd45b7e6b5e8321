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

  [[nodiscard]] uint32_t accepted(U64 low, U64 high) const {
    return are_within(low) | are_within(high) << (L::kCount / 2);
  }
  [[nodiscard]] uint32_t are_within(U64 value) const {
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

template <typename L>
FoundCodes find_within16(
    uint16_t first, uint16_t last, const uint16_t* values, int64_t count, uint32_t* found) {
  constexpr int kTogether = 2 * L::kCount;
  constexpr uint32_t kHalf = (1U << L::kCount) - 1;
  const auto low = L::fill16(first), high = L::fill16(last);
  const auto width = L::fill16(static_cast<uint16_t>(last - first));
  const auto step = L::fill32(L::kCount);
  auto number = L::iota32();
  uint32_t *out = found, any_at_ends = 0;
  const auto take = [&](auto value, uint32_t inside) {
    const uint32_t mask = inside & L::within16(value, low, width);
    any_at_ends |= inside & L::equal_either16(value, low, high);
    out += L::pack(out, mask & kHalf, number);
    number = L::add32(number, step);
    out += L::pack(out, mask >> L::kCount, number);
    number = L::add32(number, step);
  };
  int64_t i = 0;
  for (; i + kTogether <= count; i += kTogether)
    take(L::load16(values + i), ~0U);
  if (const int left = static_cast<int>(count - i); left > 0)
    take(L::load16(values + i, left), (1U << left) - 1);
  return {out - found, any_at_ends != 0};
}

template <typename L>
Within within_lanes() {
  return {find_within64<L>, find_within16<L>};
}

}  // namespace ramet
