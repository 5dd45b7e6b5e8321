#include "ramet/random.h"

#include <doctest/doctest.h>

#include <cstdint>

using namespace ramet;

// docs/semantics.md, section 2. The first three are the published outputs of SplitMix64 from
// seed 1234567 (the generator's state after one step is seed + golden).
TEST_CASE("the random function is SplitMix64") {
  CHECK(absorb(1234567, 0) == 6457827717110365317ULL);
  CHECK(absorb(1234567, 1) == 3203168211198807973ULL);
  CHECK(absorb(1234567, 2) == 9817491932198370423ULL);
}

TEST_CASE("FNV-1a has its published values") {
  CHECK(hash_name("") == 0xcbf29ce484222325ULL);
  CHECK(hash_name("a") == 0xaf63dc4c8601ec8cULL);
  CHECK(hash_name("foobar") == 0x85944171f73967e8ULL);
}

TEST_CASE("uniform_below stays below and rejects what would bias") {
  for (const uint64_t n : {1ULL, 2ULL, 3ULL, 40000ULL, (1ULL << 63) + 1}) {
    for (uint64_t i = 0; i < 1000; ++i)
      CHECK(uniform_below(mix64(i), n) < n);
  }
  // n = 2^63 + 1 rejects almost half of all words; the slow twin says which value follows.
  const uint64_t n = (1ULL << 63) + 1;
  for (uint64_t i = 0; i < 1000; ++i) {
    uint64_t r = mix64(i);
    while (static_cast<uint64_t>(static_cast<uint128_t>(r) * n) < (0 - n) % n)
      r = mix64(r + kGolden);
    CHECK(uniform_below(mix64(i), n) ==
          static_cast<uint64_t>((static_cast<uint128_t>(r) * n) >> 64));
  }
}

TEST_CASE("words that differ in any part of their key are unrelated") {
  CHECK(step_key(1, 0, 0) != step_key(0, 1, 0));
  CHECK(step_key(0, 1, 0) != step_key(0, 0, 1));
  CHECK(hop_key(7, 0, 1) != hop_key(7, 1, 0));
}
