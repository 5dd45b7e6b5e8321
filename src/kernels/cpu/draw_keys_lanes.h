// DrawKeys (draw_keys.h) for every lane: one key per lane where words are plain, two where they are
// mixed. `stream` is what absorb(key, value) adds to the key before it mixes, golden * (value + 1).
#pragma once

#include "base/dependent_lanes.h"
#include "base/draw_keys.h"
#include "lanes.h"

namespace ramet {

// What absorb(key, value) of ramet/random.h adds to the key.
template <typename L>
typename L::U64 stream_of(typename L::U64 value) {
  return L::mul64(L::add64(value, L::fill64(1)), kLaneGolden);
}

template <typename L>
struct PlainKeys {
  using U64 = typename L::U64;

  static PlainKeys fill(const DrawKeys& keys) { return {L::fill64(keys.now)}; }
  PlainKeys absorb(U64 stream) const { return {draw(stream)}; }
  U64 draw(U64 stream) const { return mix64_lanes<L>(L::add64(key, stream)); }
  // Words of which only the upper 31 bits are right.
  U64 draw_top(U64 stream) const { return mix64_top_lanes<L>(L::add64(key, stream)); }

  U64 key;
};

template <typename L>
struct DependentKeys {
  using U64 = typename L::U64;

  static DependentKeys fill(const DrawKeys& keys) {
    return {{L::fill64(keys.now)}, {L::fill64(keys.next)}, &keys.mixture};
  }
  DependentKeys absorb(U64 stream) const {
    return {now.absorb(stream), next.absorb(stream), mixture};
  }
  U64 draw(U64 stream) const {
    return dependent_lanes<L>(now.draw(stream), next.draw(stream), *mixture);
  }
  U64 draw_top(U64 stream) const { return draw(stream); }

  PlainKeys<L> now, next;
  const Mixture* mixture;
};

}  // namespace ramet
