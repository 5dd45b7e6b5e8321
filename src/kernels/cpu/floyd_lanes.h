// Floyd's algorithm (Bentley, Floyd: "A sample of brilliance", CACM 1987) with a row per lane.
//
// Picks are 32 bits wide and kept one vector per pick, ascending. Step t draws x in [0, j],
// j = degree - fanout + t, for all rows at once; whether x is taken is one comparison with every
// earlier pick, and insertion is one min and one max with each: k^2 / 2 vector steps for k picks
// of 16 rows, no branch that depends on data, no shuffle and no table.
//
// A draw is the SplitMix64 output and its reduction below n of ramet/random.h. It needs 64-bit
// lanes, so even and odd rows are drawn apart and blended: the high 32 bits of
// (r * n) >> 32 = r_high * n + ((r_low * n) >> 32) are x. Lemire's rejection needs the low 64 bits
// of r * n to be below n < 2^32, so rows where bits 32 to 63 are zero are reported, not decided.
#pragma once

#include "draw_keys_lanes.h"
#include "floyd.h"
#include "lanes.h"

namespace ramet {

template <typename L, typename Keys>
struct FloydLanes {
  using U32 = typename L::U32;
  using U64 = typename L::U64;
  using Truth = typename L::Truth;  // yes or no for each lane of 32 bits

  // Draw t of every row, below n; `suspects` collects the rows whose draw may have to be repeated.
  U32 draw(int t, U32 n, Truth& suspects) const {
    const U64 stream = L::fill64(kLaneGolden * static_cast<uint64_t>(t + 1));
    const U64 even = scale<L>(keys[0].draw(stream), n);
    const U64 odd = scale<L>(keys[1].draw(stream), L::template shift_right<32>(n));
    const U32 below_x = L::even_odd(even, L::template shift_left<32>(odd));
    suspects = L::either(suspects, L::is_equal(below_x, L::fill32(0)));
    return L::even_odd(L::template shift_right<32>(even), odd);
  }

  // Returns the suspects.
  Truth pick(int fanout, U32 degree, U32* picked) const {
    Truth suspects = L::nowhere();
    for (int t = 0; t < fanout; ++t) {
      const U32 n = L::add32(degree, L::fill32(static_cast<uint32_t>(t + 1 - fanout)));
      const U32 x = draw(t, n, suspects);
      Truth taken = L::nowhere();
      for (int s = 0; s < t; ++s)
        taken = L::either(taken, L::is_equal(picked[s], x));
      U32 pick = L::select(taken, L::add32(n, L::fill32(~0U)), x);  // n - 1 is j
      for (int s = 0; s < t; ++s) {
        const U32 smaller = L::min32(picked[s], pick);
        pick = L::max32(picked[s], pick);
        picked[s] = smaller;
      }
      picked[t] = pick;
    }
    return suspects;
  }

  Keys keys[2];  // of the nodes of the even and of the odd rows
};

template <typename L, typename Keys>
uint32_t floyd_rows(const DrawKeys& hop_keys,
                    int fanout,
                    const FloydRows& rows,
                    FloydPicks& picks) {
  uint32_t suspects = 0;
  for (int first = 0; first < kFloydRows; first += L::kCount) {
    FloydLanes<L, Keys> lanes;
    for (int half = 0; half < 2; ++half) {
      const auto node = L::load(&rows.node[half][first / 2]);
      const auto stream = L::mul64(L::add64(node, L::fill64(1)), kLaneGolden);
      lanes.keys[half] = Keys::fill(hop_keys).absorb(stream);
    }
    typename L::U32 picked[kFloydMaxFanout];
    const auto repeat = lanes.pick(fanout, L::load(&rows.degree[first]), picked);
    suspects |= L::bits(repeat) << first;
    for (int t = 0; t < fanout; ++t)
      L::store(&picks.of[t][first], picked[t]);
  }
  return suspects;
}

template <typename L>
uint32_t floyd_lanes(const DrawKeys& hop_keys,
                     int fanout,
                     const FloydRows& rows,
                     FloydPicks& picks) {
  if (hop_keys.mixture.plain) return floyd_rows<L, PlainKeys<L>>(hop_keys, fanout, rows, picks);
  return floyd_rows<L, DependentKeys<L>>(hop_keys, fanout, rows, picks);
}

}  // namespace ramet
