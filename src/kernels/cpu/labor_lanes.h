// LABOR's scan of a row with a source per 64-bit lane; see labor_scan.h, and lanes.h for `L`.
//
// The words of two vectors of sources are computed side by side, compared, and the lanes that are
// accepted become bits of a mask, by which the offsets of the sources are packed. A row's end is a
// vector whose lanes beyond it are left out of the mask.
#pragma once

#include <cstdint>

#include "draw_keys_lanes.h"
#include "labor_scan.h"
#include "lanes.h"

namespace ramet {

template <typename L>
struct PlainLabor {
  using U64 = typename L::U64;

  PlainLabor(const DrawKeys& source_keys, uint64_t threshold)
      : keys(PlainKeys<L>::fill(source_keys)), bound(L::fill64(threshold)) {}

  // One bit for each of the sources, set where it is accepted.
  [[nodiscard]] uint32_t accepted(U64 source) const {
    return L::at_most(keys.draw(stream_of<L>(source)), bound);
  }

  PlainKeys<L> keys;
  U64 bound;
};

// Of a hub few sources are accepted, and the normals of their words take most of the time. But
// cos n0 + sin n1 reaches z > 0 only where one of n0 and n1 reaches z / (cos + sin). Words are
// upper tails, so where both of a source's words are above the word of that, the rest can be
// spared.
template <typename L>
struct DependentLabor {
  using U64 = typename L::U64;

  DependentLabor(const DrawKeys& source_keys, uint64_t threshold)
      : keys(DependentKeys<L>::fill(source_keys)),
        bound(L::fill64(threshold)),
        reach(L::fill64(~uint64_t{0})) {
    if (threshold > kWorthReach) return;
    const Mixture& mixture = source_keys.mixture;
    const auto z = normal_of_word<L>(L::fill64(threshold + kSlack));
    const auto each = L::mul_f64(z, L::fill_f64(1 / (mixture.cos + mixture.sin)));
    reach = L::add64(word_of_normal<L>(L::add_f64(each, L::fill_f64(-1e-6))), L::fill64(kSlack));
  }

  [[nodiscard]] uint32_t accepted(U64 source) const {
    const U64 stream = stream_of<L>(source);
    const U64 now = keys.now.draw(stream), next = keys.next.draw(stream);
    if ((L::at_most(now, reach) | L::at_most(next, reach)) == 0) return 0;
    return L::at_most(dependent_lanes<L>(now, next, *keys.mixture), bound);
  }

  static constexpr uint64_t kWorthReach = uint64_t{1} << 59;  // above, most vectors have one
  static constexpr uint64_t kSlack = uint64_t{1} << 14;  // more than words and normals are off by
  DependentKeys<L> keys;
  U64 bound, reach;
};

// The offsets of the sources for which lanes.accepted() has a bit; returns how many there are.
template <typename L, typename Lanes, typename Index>
int64_t pack_accepted(const Lanes& lanes, const Index* sources, int64_t count, uint32_t* accepted) {
  constexpr int kHalf = L::kCount / 2;  // sources in a vector
  auto offset = L::iota32();
  uint32_t* out = accepted;
  int64_t i = 0;
  for (; i + L::kCount <= count; i += L::kCount) {
    if (i + kLaborAhead < count) __builtin_prefetch(sources + i + kLaborAhead, 0, 2);
    const uint32_t low = lanes.accepted(L::load_ids(sources + i));
    const uint32_t high = lanes.accepted(L::load_ids(sources + i + kHalf));
    out += L::pack(out, low | high << kHalf, offset);
    offset = L::add32(offset, L::fill32(L::kCount));
  }
  if (i < count) {
    const int left = static_cast<int>(count - i);
    const uint32_t low = lanes.accepted(L::load_ids(sources + i, left));
    const uint32_t high =
        left > kHalf ? lanes.accepted(L::load_ids(sources + i + kHalf, left - kHalf)) : 0;
    const uint32_t inside = (1U << left) - 1;
    out += L::pack(out, (low | high << kHalf) & inside, offset);
  }
  return out - accepted;
}

template <typename L, typename Keys>
void words_by_keys(const DrawKeys& keys, const int64_t* values, int64_t count, uint64_t* out) {
  const Keys lanes = Keys::fill(keys);
  for (int64_t i = 0; i < count; i += L::kCount / 2)
    L::store(out + i, lanes.draw(stream_of<L>(L::load_ids(values + i))));
}

template <typename L>
void words_of(const DrawKeys& keys, const int64_t* values, int64_t count, uint64_t* out) {
  if (keys.mixture.plain) return words_by_keys<L, PlainKeys<L>>(keys, values, count, out);
  words_by_keys<L, DependentKeys<L>>(keys, values, count, out);
}

template <typename L, typename Index>
int64_t labor_scan(const DrawKeys& source_keys,
                   uint64_t threshold,
                   const Index* sources,
                   int64_t count,
                   uint32_t* accepted) {
  if (source_keys.mixture.plain)
    return pack_accepted<L>(PlainLabor<L>(source_keys, threshold), sources, count, accepted);
  return pack_accepted<L>(DependentLabor<L>(source_keys, threshold), sources, count, accepted);
}

}  // namespace ramet
