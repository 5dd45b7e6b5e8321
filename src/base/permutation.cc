#include "base/permutation.h"

#include <algorithm>

#include "ramet/random.h"

namespace ramet {
namespace {

// Half of the smallest even number of bits, at least 8 (fewer shuffle unevenly), that count to n.
int half_bits_for(uint64_t n) {
  int half = 4;
  while (half < 31 && (uint64_t{1} << (2 * half)) < n)
    ++half;
  return half;
}

// Two positions that differ in their left half alone stay together in every other round with the
// probability 2^-half, so that such pairs are uneven by 2^-half(rounds / 2 - 2). At most 2^-16.
int rounds_for(int half_bits) {
  return std::max(8, 2 * ((16 + half_bits - 1) / half_bits) + 4);
}

}  // namespace

Permutation::Permutation(int64_t n, uint64_t key)
    : n_(static_cast<uint64_t>(n)), half_bits_(half_bits_for(n_)), rounds_(rounds_for(half_bits_)) {
  for (int i = 0; i < rounds_; ++i)
    round_key_[i] = absorb(key, static_cast<uint64_t>(i));
  exchange_ = n_ < 2 ? 0 : absorb(key, static_cast<uint64_t>(rounds_)) & 1;
}

uint64_t Permutation::walk_once(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = x >> half_bits_;
  uint64_t right = x & mask;
  for (int i = 0; i < rounds_; ++i) {
    const uint64_t mixed = left ^ (absorb(round_key_[i], right) & mask);
    left = right;
    right = mixed;
  }
  return (left << half_bits_) | right;
}

int64_t Permutation::operator()(int64_t position) const {
  auto x = static_cast<uint64_t>(position);
  do {
    x = walk_once(x);
  } while (x >= n_);
  return static_cast<int64_t>(x < 2 ? x ^ exchange_ : x);
}

}  // namespace ramet
