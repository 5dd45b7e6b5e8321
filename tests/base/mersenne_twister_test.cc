// Skipping against the standard library's generator.
#include "ramet/mersenne_twister.h"

#include <doctest/doctest.h>

#include <random>
#include <sstream>

using namespace ramet;

namespace {

// The words of the state, in which libstdc++ and libc++ write them, with what follows.
MersenneTwister state_of(const std::mt19937& generator) {
  std::stringstream text;
  text << generator;
  MersenneTwister twister;
  for (uint32_t& word : twister.words)
    text >> word;
  text >> twister.next;
  return twister;
}

}  // namespace

TEST_CASE("skipped numbers are those that would have been drawn") {
  for (const uint64_t count : {0u, 1u, 2u, 623u, 624u, 625u, 1'248u, 5'000u, 100'003u}) {
    CAPTURE(count);
    std::mt19937 drawn(7);
    drawn.discard(3);
    MersenneTwister skipped = state_of(drawn);
    drawn.discard(count);
    skipped.skip(count);
    skipped.skip(1);
    drawn.discard(1);
    CHECK(skipped.words == state_of(drawn).words);
    CHECK(skipped.next == state_of(drawn).next);
  }
}
