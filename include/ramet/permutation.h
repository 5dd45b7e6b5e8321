// Permutation: a keyed bijection of [0, n), evaluated one position at a time, so that a shuffle
// costs no array in any trainer. A balanced Feistel network of eight rounds over the next even
// power of two, walked until it falls inside [0, n) (Black, Rogaway: "Ciphers with arbitrary
// finite domains", CT-RSA 2002). docs/semantics.md, section 6.
//
// A value type without pointers; any thread may use one.
#pragma once

#include <cstdint>

namespace ramet {

class Permutation {
 public:
  // n >= 0. Equal (n, key) give the equal permutation.
  Permutation(int64_t n, uint64_t key);

  // The image of `position`; 0 <= position < n is the caller's duty.
  [[nodiscard]] int64_t operator()(int64_t position) const;

 private:
  [[nodiscard]] uint64_t walk_once(uint64_t x) const;

  static constexpr int kRounds = 8;
  uint64_t n_;
  int half_bits_;
  uint64_t round_key_[kRounds];
};

}  // namespace ramet
