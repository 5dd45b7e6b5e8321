// The rows of many nodes in a bitmap (owned_bitmap.h). Their lines are all over memory, so they are
// requested some nodes ahead; then counting the bits below a node is what remains, one instruction
// for a word where there is one. In an unnamed namespace, so that each file has its own copy,
// compiled for the instructions of that file.
#pragma once

#include <cstdint>

#include "owned_bitmap.h"

namespace ramet {
namespace {

template <typename Id>
void find_rows(const uint64_t* lines, const Id* nodes, int64_t count, int64_t* rows) {
  constexpr int64_t kAhead = 32;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) __builtin_prefetch(lines + nodes[i + kAhead] / kLineBits * kLineWords);
    const uint64_t* line = lines + nodes[i] / kLineBits * kLineWords;
    const int64_t bit = nodes[i] % kLineBits;
    const uint64_t* bits = line + 1;
    const uint64_t mask = uint64_t{1} << bit % 64;
    int64_t below = __builtin_popcountll(bits[bit / 64] & (mask - 1));
    for (int64_t w = 0; w < bit / 64; ++w)
      below += __builtin_popcountll(bits[w]);
    const auto row = static_cast<int64_t>(line[0] + static_cast<uint64_t>(below));
    rows[i] = (bits[bit / 64] & mask) != 0 ? row : -1;
  }
}

}  // namespace
}  // namespace ramet
