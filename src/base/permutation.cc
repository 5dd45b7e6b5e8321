#include "ramet/permutation.h"

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

}  // namespace

Permutation::Permutation(int64_t n, uint64_t key)
    : n_(static_cast<uint64_t>(n)), half_bits_(half_bits_for(n_)) {
  for (int i = 0; i < kRounds; ++i)
    round_key_[i] = absorb(key, static_cast<uint64_t>(i));
}

uint64_t Permutation::walk_once(uint64_t x) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = x >> half_bits_;
  uint64_t right = x & mask;
  for (const uint64_t key : round_key_) {
    const uint64_t mixed = left ^ (absorb(key, right) & mask);
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
  return static_cast<int64_t>(x);
}

}  // namespace ramet
