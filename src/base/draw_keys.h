// DrawKeys: the keys from which the random words of a step are drawn; docs/semantics.md, sections 2
// and 9.
//
// A word of a dependent minibatch mixes the words of two consecutive blocks of steps. A key is
// therefore a pair of keys, which absorb the same values.
#pragma once

#include <cstdint>

#include "ramet/random.h"

namespace ramet {

// The weights of the two words as normals: cos^2 + sin^2 = 1. Plain: the first word, unchanged.
struct Mixture {
  bool plain = true;
  double cos = 1, sin = 0;
};

struct DrawKeys {
  uint64_t now = 0, next = 0;  // of the step's block, and of the block after it
  Mixture mixture = {};
};

// The weights of step j of a block of `kappa` steps, 0 <= j < kappa.
[[nodiscard]] Mixture mixture_of(uint64_t j, uint64_t kappa);

// The keys of one step, kappa >= 1; with kappa = 1 `now` is step_key(seed, epoch, step), plain.
[[nodiscard]] DrawKeys step_keys(uint64_t seed, uint64_t epoch, uint64_t step, uint64_t kappa);

constexpr DrawKeys absorb(const DrawKeys& keys, uint64_t value) {
  return {absorb(keys.now, value), absorb(keys.next, value), keys.mixture};
}
// Keys that absorb `value` as `keys` absorb first + value.
constexpr DrawKeys beginning_at(const DrawKeys& keys, int64_t first) {
  const uint64_t skipped = kGolden * static_cast<uint64_t>(first);
  return {keys.now + skipped, keys.next + skipped, keys.mixture};
}
constexpr DrawKeys hop_keys(const DrawKeys& step_keys, uint64_t hop, uint64_t edge_type_hash) {
  return absorb(absorb(step_keys, hop), edge_type_hash);
}
constexpr DrawKeys node_keys(const DrawKeys& hop_keys, int64_t node) {
  return absorb(hop_keys, static_cast<uint64_t>(node));
}

// Mixes two words as normals into one word. Not for a plain mixture.
[[nodiscard]] uint64_t dependent_word(uint64_t now, uint64_t next, const Mixture& mixture);

// The t-th random word.
inline uint64_t draw_word(const DrawKeys& keys, uint64_t t) {
  const uint64_t now = absorb(keys.now, t);
  if (keys.mixture.plain) return now;
  return dependent_word(now, absorb(keys.next, t), keys.mixture);
}

}  // namespace ramet
