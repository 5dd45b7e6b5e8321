// What kernels over vector lanes share: the random function of ramet/random.h for every lane.
//
// `L` wraps the instructions: L::kCount lanes of 32 bits (U32) or half as many of 64 (U64), the
// same register. It is a type of one source file, so nothing here is shared between files that
// are compiled for different processors, and nothing here may call what is.
#pragma once

#include <cstdint>

namespace ramet {

inline constexpr uint64_t kLaneGolden = 0x9e3779b97f4a7c15ULL;  // kGolden of ramet/random.h

// Its upper 31 bits are those of mix64, the others are not.
template <typename L>
typename L::U64 mix64_top_lanes(typename L::U64 x) {
  x = L::mul64(L::bit_xor(x, L::template shift_right<30>(x)), 0xbf58476d1ce4e5b9ULL);
  return L::mul64(L::bit_xor(x, L::template shift_right<27>(x)), 0x94d049bb133111ebULL);
}

// mix64 of ramet/random.h.
template <typename L>
typename L::U64 mix64_lanes(typename L::U64 x) {
  x = mix64_top_lanes<L>(x);
  return L::bit_xor(x, L::template shift_right<31>(x));
}

// Bits 32 to 95 of r * n, where n is the low half of each lane.
template <typename L>
typename L::U64 scale(typename L::U64 r, typename L::U64 n) {
  const auto low = L::mul32(r, n);
  const auto high = L::mul32(L::template shift_right<32>(r), n);
  return L::add64(high, L::template shift_right<32>(low));
}

// A bit for each 32-bit lane where `a` is at most `b`.
template <typename L>
uint32_t at_most32(typename L::U32 a, typename L::U32 b) {
  return L::bits(L::is_equal(L::max32(a, b), b));
}

// Whether that is so in all lanes.
template <typename L>
bool all_at_most(typename L::U32 a, typename L::U32 b) {
  return at_most32<L>(a, b) == (1U << L::kCount) - 1;
}

}  // namespace ramet
