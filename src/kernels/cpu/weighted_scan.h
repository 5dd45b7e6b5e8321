// The scan of a row by weighted sampling without replacement: which edges have the smallest
// numbers exponential(word) / weight. docs/semantics.md, section 13.
//
// Few edges can be among them, so a bound for the k-th number is guessed, and the logarithm is
// taken of those edges alone whose number may be within it: -log u > a + a^2 / 2 for a = 1 - u.
// A kernel per instruction set gives the same result. Arrays are aligned to 64 bytes and have room
// for kWeightedPadding more; the weights behind a row's end are 0.
#pragma once

#include <cstdint>

#include "base/draw_keys.h"
#include "base/exponential_lanes.h"

namespace ramet {

inline constexpr int64_t kWeightedPadding = 16;
inline constexpr int64_t kMaxRanked = 128;  // numbers that WeightedKernel::smallest orders

struct WeightedKernel {
  // Writes `count` weights as doubles. Their sum, in any order; not a number if one is no weight.
  double (*load32)(const float* weights, int64_t count, double* out) = nullptr;
  double (*load64)(const double* weights, int64_t count, double* out) = nullptr;
  // Writes the words of edges x[i], and the numbers i, ascending, of at least those edges whose
  // number is at most `bound`. Returns how many these are. Edges of weight 0 are not among them.
  int64_t (*candidates)(const DrawKeys& keys,
                        const int64_t* x,
                        const double* weights,
                        int64_t count,
                        double bound,
                        uint64_t* words,
                        uint32_t* found) = nullptr;
  // Writes the numbers of the edges found. Returns how many of them are at most `bound`.
  int64_t (*numbers)(const uint64_t* words,
                     const double* weights,
                     const uint32_t* found,
                     int64_t count,
                     double bound,
                     double* out) = nullptr;
  // Keeps the edges found, at most kMaxRanked, with fewer than k smaller numbers: k, or more where
  // numbers are equal. Returns how many.
  int64_t (*smallest)(const double* numbers, int64_t count, int64_t k, uint32_t* found) = nullptr;

  double load(const float* weights, int64_t count, double* out) const {
    return load32(weights, count, out);
  }
  double load(const double* weights, int64_t count, double* out) const {
    return load64(weights, count, out);
  }
};

inline constexpr double kWeightedSlack = 1 + 0x1p-40;  // more than numbers are off by

[[nodiscard]] WeightedKernel weighted_portable();

}  // namespace ramet
