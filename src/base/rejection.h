// Weighted draws by rejection; docs/semantics.md, section 13. A try takes any of a row's positions
// and accepts it with the probability weight / largest weight of the row (von Neumann: "Various
// techniques used in connection with random digits", 1951). So a draw costs tries, not the row,
// unless few edges have most of its weight. Shared by CPU and GPU.
#pragma once

#include <cstdint>

namespace ramet {

// What tries need to know of a row of `degree` edges: its largest weight, and how many tries a draw
// takes, on average and rounded up. 0: there can be none.
template <typename Weight>
struct RowTries {
  Weight largest = 0;
  uint32_t tries = 0;
};

// The word of try t is draw number kFirstTry + t of the node, which is no edge's.
inline constexpr uint64_t kFirstTry = uint64_t{1} << 32;
inline constexpr int64_t kTriesAtOnce = 8;

// The number of tries of a draw is degree / sum(w / largest). The sum is one of integers, so that
// it does not depend on its order.
inline constexpr double kLargestPart = 0x1p31;
constexpr uint64_t part_of_largest(double weight, double scale) {  // scale: kLargestPart / largest
  const double part = weight * scale;
  return part >= 0 && part < kLargestPart ? static_cast<uint64_t>(part) : uint64_t{1} << 31;
}
constexpr uint32_t average_tries(int64_t degree, uint64_t sum_of_parts) {
  if (sum_of_parts == 0) return 0;  // weights that change meanwhile
  const auto all = static_cast<uint64_t>(degree) << 31;
  const uint64_t tries = (all + sum_of_parts - 1) / sum_of_parts;
  return tries < kFirstTry ? static_cast<uint32_t>(tries) : ~uint32_t{0};
}

constexpr bool can_reject(int64_t degree) {
  return degree < static_cast<int64_t>(kFirstTry);
}

// Whether k draws are made by tries, if these are few enough; all, k < 0, are not drawn.
constexpr bool may_reject(int64_t k, bool replace, int64_t degree) {
  return k > 0 && can_reject(degree) && (replace || degree / 2 > k);
}
// Not where looking at the whole row costs less.
constexpr bool draws_by_rejection(int64_t k, bool replace, int64_t degree, uint32_t tries) {
  return may_reject(k, replace, degree) && tries > 0 && tries <= 8 + degree / k / 4;
}

// Nearly all tries are decided by 16 bits per edge, about 2^16 times weight / largest weight:
// whether they are above or below the upper 16 bits of the try's rest. `scale`:
// code_scale(largest).
constexpr double code_scale(double largest) {
  return 0x1p16 * (1 + 0x1p-32) / largest;  // with more slack than rounding needs
}
constexpr uint16_t code_of_weight(double weight, double scale) {
  const double code = weight * scale;
  return code >= 0 && code < 65'535 ? static_cast<uint16_t>(code) : uint16_t{65'535};
}

// After as many tries a row's other draws are made without them.
constexpr int64_t most_tries(int64_t k, uint32_t tries) {
  return (2 * k * tries / kTriesAtOnce + 1) * kTriesAtOnce;
}

// What a word says: a position below `degree`, and 64 bits of which the accepted part is made.
struct Try {
  uint32_t position;
  uint64_t rest;
};
constexpr Try try_of(uint64_t word, int64_t degree) {
  const auto n = static_cast<uint64_t>(degree);
  const uint64_t low = (word & 0xffffffff) * n, high = (word >> 32) * n + (low >> 32);
  return {static_cast<uint32_t>(high >> 32), high << 32 | (low & 0xffffffff)};
}

}  // namespace ramet
