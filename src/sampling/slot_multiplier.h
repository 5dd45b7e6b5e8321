// The multiplier of a HashTable: the upper bits of id * multiplier are the id's slot, or its place
// in the window of its tree.
//
// Whoever chooses ids must not know it: ids made to fall into one slot are all passed by every
// search. And runs of ids, which graphs have, must fall as evenly as the golden ratio spreads them
// (Knuth, volume 3, section 6.4). So multiplier / 2^64 is a continued fraction of random quotients,
// but of 1 and 2 alone: runs are spread the worse, the larger a quotient is. The golden ratio has
// ones alone.
#pragma once

#include <cstdint>

namespace ramet {

// The one that the bits of `random` choose; odd.
[[nodiscard]] uint64_t slot_multiplier(uint64_t random);

// Another one for each call, that nobody can foretell.
[[nodiscard]] uint64_t unpredictable_slot_multiplier();

}  // namespace ramet
