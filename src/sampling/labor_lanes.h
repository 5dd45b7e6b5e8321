// LABOR's scan of a row with a source per 64-bit lane; see labor_scan.h, and lanes.h for `L`.
//
// The words of two vectors of sources are computed side by side, compared, and the lanes that are
// accepted become bits of a mask, by which the offsets of the sources are packed: no branch depends
// on data. A row's end is a vector whose lanes beyond it are left out of the mask.
#pragma once

#include <cstdint>

#include "draw_keys_lanes.h"
#include "labor_scan.h"
#include "lanes.h"

namespace ramet {

template <typename L, typename Keys>
struct LaborLanes {
  using U64 = typename L::U64;
  static constexpr int kHalf = L::kCount / 2;  // sources in a vector

  // One bit for each of the sources, set where it is accepted.
  [[nodiscard]] uint32_t accepted(U64 source) const {
    const U64 stream = L::mul64(L::add64(source, L::fill64(1)), kLaneGolden);
    return L::at_most(keys.draw(stream), threshold);
  }

  Keys keys;
  U64 threshold;
};

template <typename L, typename Keys, typename Index>
int64_t labor_row(const DrawKeys& source_keys,
                  uint64_t threshold,
                  const Index* sources,
                  int64_t count,
                  uint32_t* accepted) {
  using Lanes = LaborLanes<L, Keys>;
  const Lanes lanes{Keys::fill(source_keys), L::fill64(threshold)};
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

template <typename L, typename Index>
int64_t labor_scan(const DrawKeys& source_keys,
                   uint64_t threshold,
                   const Index* sources,
                   int64_t count,
                   uint32_t* accepted) {
  if (source_keys.mixture.plain)
    return labor_row<L, PlainKeys<L>>(source_keys, threshold, sources, count, accepted);
  return labor_row<L, DependentKeys<L>>(source_keys, threshold, sources, count, accepted);
}

}  // namespace ramet
