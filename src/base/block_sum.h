// Sums of doubles whose order of additions is fixed and yet parallel: docs/semantics.md, section 8.
// Up to kSumBlock terms they have the bits of a sum in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ramet {

inline constexpr int64_t kSumBlock = 1024;

// Blocks side by side, so that additions need not wait for each other.
template <size_t kBlocks, typename Term>
void add_blocks(size_t first, size_t from, size_t to, const Term& term, double* sums) {
  for (size_t e = from; e < to; ++e)
    for (size_t b = 0; b < kBlocks; ++b)
      sums[b] += term(first + b * kSumBlock + e);
}

// The sum of term(i) for i < count.
template <typename Term>
double sum_in_blocks(size_t count, const Term& term) {
  constexpr auto kBlock = static_cast<size_t>(kSumBlock);
  double sum = 0;
  size_t first = 0;
  for (; first + 3 * kBlock < count; first += 4 * kBlock) {
    const size_t of_last = std::min(kBlock, count - first - 3 * kBlock);
    double sums[4] = {};
    add_blocks<4>(first, 0, of_last, term, sums);
    add_blocks<3>(first, of_last, kBlock, term, sums);
    for (const double of_block : sums)
      sum += of_block;
  }
  for (; first < count; first += kBlock) {
    double of_block = 0;
    add_blocks<1>(first, 0, std::min(kBlock, count - first), term, &of_block);
    sum += of_block;
  }
  return sum;
}

}  // namespace ramet
