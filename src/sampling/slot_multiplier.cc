#include "slot_multiplier.h"

#include <sys/random.h>
#include <sys/types.h>

#include <atomic>

#include "ramet/random.h"

namespace ramet {
namespace {

uint64_t random_word() {
  uint64_t word = 0;
  while (::getrandom(&word, sizeof word, 0) != ssize_t(sizeof word)) {
  }
  return word;
}

}  // namespace

// Convergents of 0 + 1 / (a1 + 1 / (a2 + ...)), until they are as fine as 64 bits.
uint64_t slot_multiplier(uint64_t random) {
  uint64_t numerator = 0, denominator = 1, last_numerator = 1, last_denominator = 0;
  while (denominator < uint64_t{1} << 61) {
    const uint64_t quotient = 1 + (random & 1);
    random >>= 1;
    const uint64_t next_numerator = quotient * numerator + last_numerator;
    const uint64_t next_denominator = quotient * denominator + last_denominator;
    last_numerator = numerator;
    last_denominator = denominator;
    numerator = next_numerator;
    denominator = next_denominator;
  }
  return static_cast<uint64_t>((static_cast<uint128_t>(numerator) << 64) / denominator) | 1;
}

uint64_t unpredictable_slot_multiplier() {
  static const uint64_t key = random_word();
  static std::atomic<uint64_t> calls = 0;
  return slot_multiplier(absorb(key, calls.fetch_add(1, std::memory_order_relaxed)));
}

}  // namespace ramet
