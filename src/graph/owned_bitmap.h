// The bitmap of the nodes that a part owns, with the ranks of its lines: the row of a node is its
// rank, the number of owned nodes below it, and finding it touches one cache line. A line of eight
// words is a count of the owned nodes before it, and 448 bits.
//
// A directory of ranks beside a bitmap is Jacobson's ("Space-efficient static trees and graphs",
// FOCS 1989); counts between the bits, so that both are in one line, are as in Vigna's "Broadword
// implementation of rank/select queries" (WEA 2008).
#pragma once

#include <bit>
#include <cstdint>

namespace ramet {

inline constexpr int64_t kLineWords = 8;
inline constexpr int64_t kLineBits = 64 * (kLineWords - 1);

[[nodiscard]] inline int64_t num_lines(int64_t num_nodes) {
  return num_nodes / kLineBits + (num_nodes % kLineBits != 0 ? 1 : 0);
}

// Bits set in the whole line.
[[nodiscard]] inline int64_t count_bits(const uint64_t* line) {
  int64_t count = 0;
  for (int64_t w = 1; w < kLineWords; ++w)
    count += std::popcount(line[w]);
  return count;
}

// Calls body(bit) with the bits of the line that are set, ascending.
template <typename Body>
void for_each_bit(const uint64_t* line, Body&& body) {
  for (int64_t w = 0; w < kLineWords - 1; ++w) {
    for (uint64_t bits = line[1 + w]; bits != 0; bits &= bits - 1)
      body(64 * w + std::countr_zero(bits));
  }
}

// Fills a line from is_owned(bit), for its first num_bits nodes.
template <typename IsOwned>
void fill_line(uint64_t* line, int64_t owned_before, int64_t num_bits, IsOwned&& is_owned) {
  line[0] = static_cast<uint64_t>(owned_before);
  for (int64_t w = 1; w < kLineWords; ++w)
    line[w] = 0;
  for (int64_t bit = 0; bit < num_bits; ++bit)
    line[1 + bit / 64] |= uint64_t{is_owned(bit)} << bit % 64;
}

}  // namespace ramet
