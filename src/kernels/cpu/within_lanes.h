// within.h with a value per 64-bit lane; see lanes.h for `L`.
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

template <typename L, typename Value>
int64_t find_within_lanes(
    Value first, Value last, const Value* values, int64_t count, uint32_t* found) {
  const auto low = static_cast<uint64_t>(first);
  const WithinLanes<L> lanes{L::fill64(0 - low), L::fill64(static_cast<uint64_t>(last) - low)};
  return pack_accepted<L>(lanes, values, count, found);
}

template <typename L>
Within within_lanes() {
  return {find_within_lanes<L, int64_t>, find_within_lanes<L, uint16_t>};
}

}  // namespace ramet
