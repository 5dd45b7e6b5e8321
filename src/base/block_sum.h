// Sums of doubles whose order of additions is fixed and yet parallel: docs/semantics.md, section 8.
// Up to kSumBlock terms they have the bits of a sum in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ramet {

inline constexpr int64_t kSumBlock = 1024;

// The sum of term(value) over `values`.
template <typename Term>
double sum_in_blocks(std::span<const double> values, const Term& term) {
  constexpr auto kBlock = static_cast<size_t>(kSumBlock);
  double sum = 0;
  for (size_t first = 0; first < values.size(); first += kBlock) {
    double of_block = 0;
    for (const double value : values.subspan(first, std::min(kBlock, values.size() - first)))
      of_block += term(value);
    sum += of_block;
  }
  return sum;
}

}  // namespace ramet
