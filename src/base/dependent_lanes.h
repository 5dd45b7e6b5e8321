// Dependent minibatches: a random word that turns slowly from one independent word into another
// (Balin, LaSalle, Catalyurek: "Cooperative minibatching in graph neural networks",
// arXiv:2310.12403); docs/semantics.md, section 9.
//
// Each word becomes a standard normal by its quantile. Mixing two normals by an angle gives a
// normal again, which becomes a word. Both maps are tables of cubics (normal.h), indexed by the
// leading bits of a double. They need no branch, logarithm or square root: every operation is
// exact, or an IEEE addition or multiplication. All lane types and the scalar code therefore give
// the same bits.
//
// A word w stands for the probability w / 2^64 that a normal is above z, the upper tail. The
// complement of all bits changes the sign of z, in both directions.
//
// `L` is a lanes type (see lanes.h) with doubles, F64, as wide as its U64.
#pragma once

#include "base/draw_keys.h"
#include "base/normal.h"

namespace ramet {

inline constexpr uint64_t kSignBit = 0x8000000000000000ULL;
inline constexpr uint64_t kFractionBits = 0x000fffffffffffffULL;  // of a double
inline constexpr uint64_t kBitsOfHalf = 0x3fe0000000000000ULL;
inline constexpr uint64_t kBitsOfOne = 0x3ff0000000000000ULL;
inline constexpr uint64_t kBitsOf16 = 0x4030000000000000ULL;
inline constexpr uint64_t kBitsOf2To52 = 0x4330000000000000ULL;

// The value of the table at `position`: the number of a cubic, then kBits bits of its variable.
template <typename L, int kBits>
constexpr typename L::F64 cubic_lanes(const double* table, typename L::U64 position) {
  const auto row = L::template shift_left<2>(L::template shift_right<kBits>(position));
  const auto fraction =
      L::bit_and(L::template shift_left<52 - kBits>(position), L::fill64(kFractionBits));
  const auto x =
      L::add_f64(L::as_f64(L::add64(fraction, L::fill64(kBitsOfOne))), L::fill_f64(-1.0));
  typename L::F64 of[4] = {};
  L::load_rows_of_4(table, row, of);
  for (int power = 2; power >= 0; --power)
    of[power] = L::add_f64(L::mul_f64(of[power + 1], x), of[power]);
  return of[0];
}

// The normal whose upper tail is the word, of which the top 53 bits count.
template <typename L>
constexpr typename L::F64 normal_of_word(typename L::U64 word,
                                         const NormalTables& tables = kNormalTables) {
  const auto lower = L::bit_xor(word, L::fill_with_sign(word));  // one of w and ~w is below 2^63
  const auto v = L::template shift_right<11>(lower);
  // p = v + 1/2, exact; its exponent and the bits below it are a position in the table.
  const auto p =
      L::add_f64(L::as_f64(L::add64(v, L::fill64(kBitsOf2To52))), L::fill_f64(0.5 - 0x1p52));
  const auto position = L::add64(L::as_u64(p), L::fill64(0 - kBitsOfHalf));
  const auto z = cubic_lanes<L, 47>(tables.quantile, position);
  return L::as_f64(L::bit_xor(L::as_u64(z), L::bit_and(word, L::fill64(kSignBit))));
}

// The word that is the normal's upper tail: a multiple of 2^12, or the complement of one.
template <typename L>
constexpr typename L::U64 word_of_normal(typename L::F64 z,
                                         const NormalTables& tables = kNormalTables) {
  const auto bits = L::as_u64(z);
  const auto size = L::as_f64(L::bit_and(bits, L::fill64(~kSignBit)));  // less than 12
  // From 16 to 32 doubles are a fixed distance apart: 48 bits behind the point.
  const auto position =
      L::add64(L::as_u64(L::add_f64(size, L::fill_f64(16.0))), L::fill64(0 - kBitsOf16));
  const auto tail = cubic_lanes<L, 41>(tables.tail, position);
  // Adding 2^52 rounds to an integer, in the low bits; the shift drops the exponent.
  const auto integer = L::as_u64(L::add_f64(tail, L::fill_f64(0x1p52)));
  return L::bit_xor(L::template shift_left<12>(integer), L::fill_with_sign(bits));
}

template <typename L>
constexpr typename L::U64 dependent_lanes(typename L::U64 now,
                                          typename L::U64 next,
                                          const Mixture& mixture,
                                          const NormalTables& tables = kNormalTables) {
  const auto from = L::mul_f64(normal_of_word<L>(now, tables), L::fill_f64(mixture.cos));
  const auto to = L::mul_f64(normal_of_word<L>(next, tables), L::fill_f64(mixture.sin));
  return word_of_normal<L>(L::add_f64(from, to), tables);
}

}  // namespace ramet
