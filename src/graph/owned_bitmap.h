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

// The row of the line's node `bit`, -1 where that is not set.
[[nodiscard]] inline int64_t row_in_line(const uint64_t* line, int64_t bit) {
  const uint64_t* bits = line + 1;
  const int64_t word = bit / 64;
  const uint64_t mask = uint64_t{1} << bit % 64;
  if ((bits[word] & mask) == 0) return -1;
  int64_t below = std::popcount(bits[word] & (mask - 1));
  for (int64_t w = 0; w < word; ++w)
    below += std::popcount(bits[w]);
  return static_cast<int64_t>(line[0] + static_cast<uint64_t>(below));
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
