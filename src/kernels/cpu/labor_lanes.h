// LABOR's scan of a row with a source per 64-bit lane; see labor_scan.h, and lanes.h for `L`.
//
// The words of two vectors of sources are computed side by side, compared, and the lanes that are
// accepted become bits of a mask, by which the offsets of the sources are packed. A row's end is a
// vector whose lanes beyond it are left out of the mask.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/exponential_lanes.h"
#include "draw_keys_lanes.h"
#include "labor_scan.h"
#include "labor_weights_lanes.h"
#include "lanes.h"

namespace ramet {

template <typename L>
struct PlainLabor {
  using U64 = typename L::U64;

  PlainLabor(const DrawKeys& source_keys, uint64_t threshold)
      : keys(PlainKeys<L>::fill(source_keys)), bound(L::fill64(threshold)) {}

  // One bit for each of the sources, set where it is accepted.
  [[gnu::always_inline]] uint32_t accepted(U64 low, U64 high) const {
    return of_half(low) | of_half(high) << (L::kCount / 2);
  }
  [[gnu::always_inline]] uint32_t of_half(U64 source) const {
    return L::at_most(keys.draw(stream_of<L>(source)), bound);
  }

  PlainKeys<L> keys;
  U64 bound;
};

// Normals take most of the time of a mixed word, so they are spared where WordBound's table is
// enough.
template <typename L>
struct DependentLabor {
  using U64 = typename L::U64;

  DependentLabor(const DrawKeys& source_keys, const WordBound& bound)
      : keys(DependentKeys<L>::fill(source_keys)), most_next(bound.next) {}

  // Of all sources that are accepted, and of some others: the upper bits of words do.
  [[gnu::always_inline]] uint32_t accepted(U64 low, U64 high) const {
    const U64 of_low = stream_of<L>(low), of_high = stream_of<L>(high);
    const auto now = L::upper31(keys.now.draw_top(of_low), keys.now.draw_top(of_high));
    const auto next = L::upper31(keys.next.draw_top(of_low), keys.next.draw_top(of_high));
    const auto raised = L::float_of31(L::max32(now, L::fill32(kLeastNow)));
    return at_most32<L>(next, most_next.of(L::exponent_and_half(raised)));
  }

  DependentKeys<L> keys;
  typename L::Table32 most_next;
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
    const uint32_t bits =
        lanes.accepted(L::load_ids(sources + i), L::load_ids(sources + i + kHalf));
    out += L::pack(out, bits, offset);
    offset = L::add32(offset, L::fill32(L::kCount));
  }
  if (i < count) {
    const int left = static_cast<int>(count - i);
    const auto low = L::load_ids(sources + i, left);
    const auto high = left > kHalf ? L::load_ids(sources + i + kHalf, left - kHalf) : low;
    out += L::pack(out, lanes.accepted(low, high) & ((1U << left) - 1), offset);
  }
  return out - accepted;
}

template <typename L, typename Keys>
void words_by_keys(const DrawKeys& keys, const uint64_t* values, int64_t count, uint64_t* out) {
  const Keys lanes = Keys::fill(keys);
  for (int64_t i = 0; i < count; i += L::kCount / 2)
    L::store(out + i, lanes.draw(stream_of<L>(L::load(values + i))));
}

template <typename L>
void words_of(const DrawKeys& keys, const uint64_t* values, int64_t count, uint64_t* out) {
  if (keys.mixture.plain) return words_by_keys<L, PlainKeys<L>>(keys, values, count, out);
  words_by_keys<L, DependentKeys<L>>(keys, values, count, out);
}

// Leaves those of `size` accepted sources whose words are at most the threshold.
template <typename L, typename Index>
int64_t keep_accepted(const DrawKeys& keys,
                      uint64_t threshold,
                      const Index* sources,
                      int64_t size,
                      uint32_t* accepted,
                      uint64_t* words) {
  constexpr int64_t kTogether = 256;
  alignas(64) uint64_t source[kTogether + kLaborPadding];
  alignas(64) uint64_t word[kTogether + kLaborPadding];
  int64_t kept = 0;
  for (int64_t first = 0; first < size; first += kTogether) {
    const int64_t count = size - first < kTogether ? size - first : kTogether;
    for (int64_t e = 0; e < count; ++e)
      source[e] = static_cast<std::make_unsigned_t<Index>>(sources[accepted[first + e]]);
    for (int64_t e = count; e < count + kLaborPadding; ++e)
      source[e] = 0;
    words_of<L>(keys, source, count, word);
    for (int64_t e = 0; e < count; ++e) {
      accepted[kept] = accepted[first + e];
      if (words != nullptr) words[kept] = word[e];
      kept += word[e] <= threshold ? 1 : 0;
    }
  }
  return kept;
}

template <typename L, typename Index>
int64_t labor_scan(const DrawKeys& source_keys,
                   const WordBound& bound,
                   const Index* sources,
                   int64_t count,
                   uint32_t* accepted,
                   uint64_t* words) {
  const bool plain = source_keys.mixture.plain;
  const int64_t size =
      plain ? pack_accepted<L>(PlainLabor<L>(source_keys, bound.word), sources, count, accepted)
            : pack_accepted<L>(DependentLabor<L>(source_keys, bound), sources, count, accepted);
  if (plain && words == nullptr) return size;
  return keep_accepted<L>(source_keys, bound.word, sources, size, accepted, words);
}

// Writes the words of all x[i], and the numbers i, ascending, where test(fraction of the word, i)
// has bits, and after them 0.
template <typename L, typename Keys, typename Index, typename Test>
int64_t pack_by_keys(const DrawKeys& keys,
                     const Index* x,
                     int64_t count,
                     uint64_t* words,
                     uint32_t* found,
                     const Test& test) {
  constexpr int kHalf = L::kCount / 2;
  const Keys lanes = Keys::fill(keys);
  const auto bits_at = [&](int64_t i) {
    const auto word = lanes.draw(stream_of<L>(L::load_ids(x + i)));
    L::store(words + i, word);
    return test(fraction_lanes<L>(word), i);
  };
  auto number = L::iota32();
  uint32_t* out = found;
  for (int64_t i = 0; i < count; i += L::kCount) {
    const uint32_t low = bits_at(i), high = bits_at(i + kHalf);
    out += L::pack(out, low | high << kHalf, number);
    number = L::add32(number, L::fill32(L::kCount));
  }
  L::pack(out, 0, L::fill32(0));  // what is read behind the end are numbers, too
  return out - found;
}

template <typename L, typename Index, typename Test>
int64_t pack_by_fractions(const DrawKeys& keys,
                          const Index* x,
                          int64_t count,
                          uint64_t* words,
                          uint32_t* found,
                          const Test& test) {
  if (keys.mixture.plain) return pack_by_keys<L, PlainKeys<L>>(keys, x, count, words, found, test);
  return pack_by_keys<L, DependentKeys<L>>(keys, x, count, words, found, test);
}

template <typename L, typename Index>
int64_t probable_lanes(const DrawKeys& source_keys,
                       const Index* sources,
                       const double* p,
                       int64_t count,
                       double c,
                       uint64_t* words,
                       uint32_t* found) {
  const auto factor = L::fill_f64(c), slack = L::fill_f64(kProbableSlack);
  const auto may_be_accepted = [=](auto u, int64_t i) {
    const auto q = L::mul_f64(L::mul_f64(L::load_f64(p + i), factor), slack);
    return L::at_most_f64(L::add_f64(u, L::fill_f64(-0x1p-53)), q);
  };
  return pack_by_fractions<L>(source_keys, sources, count, words, found, may_be_accepted);
}

// Requests what a table has of the numbers that come `kNumbersAhead` later, a vector of them.
template <typename L, typename Entry>
void request_ahead(const Entry* table, const int32_t* number) {
  for (int64_t e = kNumbersAhead; e < kNumbersAhead + L::kCount / 2; ++e)
    __builtin_prefetch(&table[number[e]], 0, 2);
}

template <typename L>
void importance_lanes(
    const double* table, const int32_t* number, int64_t count, double* p, double* inverse) {
  const auto one = L::fill_f64(1);
  for (int64_t i = 0; i < count; i += L::kCount / 2) {
    request_ahead<L>(table, number + i);
    const auto of_lane = L::load_f64(table, reinterpret_cast<const uint32_t*>(number + i));
    L::store_f64(p + i, of_lane);
    L::store_f64(inverse + i, L::div_f64(one, of_lane));
  }
}

template <typename L>
void ranked_lanes(const uint16_t* table,
                  const int32_t* number,
                  int64_t count,
                  const double* values,
                  const double* inverses,
                  double* p,
                  double* inverse) {
  constexpr int kHalf = L::kCount / 2;
  for (int64_t i = 0; i < count; i += kHalf) {
    request_ahead<L>(table, number + i);
    uint32_t rank[kHalf];
    for (int lane = 0; lane < kHalf; ++lane)
      rank[lane] = table[number[i + lane]];
    L::store_f64(p + i, L::load_f64(values, rank));
    L::store_f64(inverse + i, L::load_f64(inverses, rank));
  }
}

template <typename L>
LaborKernel labor_lanes() {
  return {labor_scan<L, int32_t>,
          labor_scan<L, int64_t>,
          probable_lanes<L, int32_t>,
          probable_lanes<L, int64_t>,
          importance_lanes<L>,
          ranked_lanes<L>,
          labor_weights_lanes<L, float>(),
          labor_weights_lanes<L, double>()};
}

}  // namespace ramet
