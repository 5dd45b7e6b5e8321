// LABOR's scan of a row with a source per 64-bit lane; see labor_scan.h, and lanes.h for `L`.
//
// The words of two vectors of sources are computed side by side, compared, and the lanes that are
// accepted become bits of a mask, by which the offsets of the sources are packed: no branch depends
// on data. A row's end is a vector whose lanes beyond it are left out of the mask.
#pragma once

#include <cstdint>

#include "labor_scan.h"
#include "lanes.h"

namespace ramet {

template <typename L>
struct LaborLanes {
  using U64 = typename L::U64;
  static constexpr int kHalf = L::kCount / 2;  // sources in a vector

  // One bit for each of the sources, set where it is accepted.
  [[nodiscard]] uint32_t accepted(U64 source) const {
    const U64 stream = L::mul64(L::add64(source, L::fill64(1)), kLaneGolden);
    return L::at_most(mix64_lanes<L>(L::add64(key, stream)), threshold);
  }

  U64 key, threshold;
};

template <typename L, typename Index>
int64_t labor_scan(uint64_t source_key,
                   uint64_t threshold,
                   const Index* sources,
                   int64_t count,
                   uint32_t* accepted) {
  using Lanes = LaborLanes<L>;
  const Lanes lanes{L::fill64(source_key), L::fill64(threshold)};
  auto offset = L::iota32();
  uint32_t* out = accepted;
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount) {
    if (i + kLaborAhead < count) __builtin_prefetch(sources + i + kLaborAhead, 0, 2);
    const uint32_t low = lanes.accepted(L::load_ids(sources + i));
    const uint32_t high = lanes.accepted(L::load_ids(sources + i + Lanes::kHalf));
    out += L::pack(out, low | high << Lanes::kHalf, offset);
    offset = L::add32(offset, L::fill32(L::kCount));
  }
  if (i < count) {
    const int left = static_cast<int>(count - i);
    const uint32_t low = lanes.accepted(L::load_ids(sources + i, left));
    const uint32_t high =
        left > Lanes::kHalf
            ? lanes.accepted(L::load_ids(sources + i + Lanes::kHalf, left - Lanes::kHalf))
            : 0;
    const uint32_t inside = (1U << left) - 1;
    out += L::pack(out, (low | high << Lanes::kHalf) & inside, offset);
  }
  return out - accepted;
}

}  // namespace ramet
