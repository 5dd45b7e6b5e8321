// Weighted sampling of a row: tries by rejection, or a scan of its weights, and without replacement
// which edges have the smallest numbers exponential(word) / weight. docs/semantics.md, section 13.
//
// Few edges can be among them, so a bound for the k-th number is guessed, and the logarithm is
// taken of those edges alone whose number may be within it: -log u > a + a^2 / 2 for a = 1 - u.
// That test takes the upper bits of a word, as a float.
// A kernel per instruction set gives the same result. `streams`, `found` and numbers are aligned to
// 64 bytes. What is written has room for kWeightedPadding more. Weights are read where they lie.
#pragma once

#include <cstdint>

#include "base/draw_keys.h"
#include "base/exponential_lanes.h"
#include "base/rejection.h"

namespace ramet {

inline constexpr int64_t kWeightedPadding = 16;
inline constexpr int64_t kMaxRanked = 128;  // numbers that WeightedKernel::smallest orders

// Edges are given by `streams`: what absorb(key, x) adds to the key for x, the number of an edge in
// its row.
constexpr uint64_t stream_of_value(uint64_t x) {
  return kGolden * (x + 1);
}

// Tries, base/rejection.h, and what they read of a row. Counts are multiples of kTriesAtOnce.
struct SomeTries {
  static constexpr int64_t kCount = 2 * kTriesAtOnce;
  alignas(64) uint64_t position[kCount], rest[kCount];
};
template <typename Weight>
struct TriedRow {
  const Weight* weights;
  const uint16_t* codes;  // of weights, or nullptr
  double largest;
};

template <typename Weight>
struct WeightedScan {
  // About the sum of `count` weights, infinite where floats overflow; not a number if one is no
  // weight, and sometimes where one is -0. 0 if all are 0.
  double (*sum)(const Weight* weights, int64_t count) = nullptr;
  // Writes `before` plus the first weights, added one after the other. Returns the last of these
  // sums; not a number as sum().
  double (*running)(const Weight* weights, int64_t count, double before, double* out) = nullptr;
  // Writes the numbers i, ascending, of at least those edges whose number is at most `bound`.
  // Returns how many these are. Edges of weight 0 are not among them.
  int64_t (*candidates)(const DrawKeys& keys,
                        const uint64_t* streams,
                        const Weight* weights,
                        int64_t count,
                        double bound,
                        uint32_t* found) = nullptr;
  // Writes the numbers of the edges found. Returns how many of them are at most `bound`.
  int64_t (*numbers)(const DrawKeys& keys,
                     const uint64_t* streams,
                     const Weight* weights,
                     const uint32_t* found,
                     int64_t count,
                     double bound,
                     double* out) = nullptr;
  // Writes the positions that the first `count` of some tries accept, in their order. Returns how
  // many.
  int64_t (*accepted)(const TriedRow<Weight>& row,
                      const SomeTries& tries,
                      int64_t count,
                      uint32_t* out) = nullptr;
};

struct WeightedKernel {
  WeightedScan<float> scan32;
  WeightedScan<double> scan64;
  // Keeps the edges found, at most kMaxRanked, with fewer than k smaller numbers: k, or more where
  // numbers are equal. Returns how many.
  int64_t (*smallest)(const double* numbers, int64_t count, int64_t k, uint32_t* found) = nullptr;
  // Makes the tries of a row of `degree` edges from `first` on. Not by mixed words.
  void (*tries)(const DrawKeys& keys, int64_t degree, int64_t first, SomeTries& out) = nullptr;

  [[nodiscard]] const WeightedScan<float>& scan(const float* /*weights*/) const { return scan32; }
  [[nodiscard]] const WeightedScan<double>& scan(const double* /*weights*/) const { return scan64; }
};

[[nodiscard]] WeightedKernel weighted_portable();

}  // namespace ramet
