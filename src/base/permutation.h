// Permutation: a keyed bijection of [0, n), evaluated one position at a time, so that a shuffle
// needs no array. It is a balanced Feistel network over the next even power of two, repeated until
// the result is inside [0, n) (Black, Rogaway: "Ciphers with arbitrary finite domains", CT-RSA
// 2002). Half of the keys then swap 0 and 1. docs/semantics.md, section 6.
//
// Why the swap: every round is an even permutation of the power of two. Without it, n = 256 would
// have only even permutations, and other n one kind more often.
//
// A value type without pointers; safe in threads.
#pragma once

#include <cstdint>

namespace ramet {

class Permutation {
 public:
  // n >= 0. Equal (n, key) give the equal permutation.
  Permutation(int64_t n, uint64_t key);

  // The image of `position`. The caller ensures 0 <= position < n.
  [[nodiscard]] int64_t operator()(int64_t position) const;

 private:
  [[nodiscard]] uint64_t walk_once(uint64_t x) const;

  static constexpr int kMaxRounds = 12;
  uint64_t n_;
  int half_bits_;
  int rounds_;
  uint64_t exchange_;  // 1: 0 and 1 change places
  uint64_t round_key_[kMaxRounds];
};

}  // namespace ramet
