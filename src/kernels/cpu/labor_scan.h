// The sources of a row that LABOR-0 accepts: those whose random word is at most the row's
// threshold. docs/semantics.md, section 8.
//
// The word belongs to the source, so every in-edge of the row is looked at: a hash and a comparison
// each, several at a time in vector lanes. A kernel per instruction set gives the same result;
// labor_scan() is the one that ramet::isa() chose.
#pragma once

#include <cstdint>

#include "base/draw_keys.h"

namespace ramet {

// Kernels write up to so many entries more than they accept.
inline constexpr int64_t kLaborPadding = 16;

// So many numbers ahead, what a table has of them is requested.
inline constexpr int64_t kNumbersAhead = 64;

inline constexpr double kProbableSlack = 1 + 0x1p-40;  // more than products are off by

// So many sources ahead of the one that is looked at are requested: the computation between two
// loads is too long for the processor to look that far itself.
inline constexpr int64_t kLaborAhead = 512;

// The largest word that is accepted. A mixed word needs normals, unless a look at its two words is
// enough: it is accepted where cos n0 + sin n1 is at least z. So the least first word of a range
// bounds n1, and the second word, for the whole range. With two ranges to an octave of first words
// about a fifth more sources remain than are accepted.
inline constexpr int kNowRanges = 32;
inline constexpr uint32_t kLeastNow = 1 << 15;  // what is below is in the lowest range
struct WordBound {
  uint64_t word;
  // The largest of the second word, by exponent and half of the first one as a float, modulo
  // kNowRanges. Of both words the upper 31 bits count.
  uint32_t next[kNowRanges];
};
[[nodiscard]] WordBound mixed_word_bound(const Mixture& mixture, uint64_t word);
[[nodiscard]] inline WordBound word_bound(const Mixture& mixture, uint64_t word) {
  return mixture.plain ? WordBound{word, {}} : mixed_word_bound(mixture, word);
}

// Writes the offsets of the accepted of `count` sources (fewer than 2^32) to `accepted`, ascending,
// and where `words` is given their words. Returns their number. Both have room for count +
// kLaborPadding. Index: int32_t, int64_t.
template <typename Index>
using LaborScan = int64_t (*)(const DrawKeys& source_keys,
                              const WordBound& bound,
                              const Index* sources,
                              int64_t count,
                              uint32_t* accepted,
                              uint64_t* words);

// For a probability min(1, c p[i]) of each source: writes the words of all, and the offsets of at
// least those accepted, ascending. Returns how many these are. `words` is aligned to 64 bytes; all
// arrays have room for kLaborPadding more, where p is negative.
template <typename Index>
using ProbableScan = int64_t (*)(const DrawKeys& source_keys,
                                 const Index* sources,
                                 const double* p,
                                 int64_t count,
                                 double c,
                                 uint64_t* words,
                                 uint32_t* found);

// The shares of edges in their row's weight, and what LABOR needs to know of a block of them.
struct ShareBlock {
  int64_t kept;  // of at least kSmallestWeight
  double sum;    // in order
};
template <typename Weight>
struct LaborWeights {
  // The sum in order; not a number if one is no weight, and sometimes where one is -0.
  double (*sum)(const Weight* weights, int64_t count) = nullptr;
  // Writes the weights over `sum`, with room for kLaborPadding more.
  ShareBlock (*shares)(const Weight* weights, int64_t count, double sum, double* out) = nullptr;
};

struct LaborKernel {
  LaborScan<int32_t> scan32 = nullptr;
  LaborScan<int64_t> scan64 = nullptr;
  ProbableScan<int32_t> probable32 = nullptr;
  ProbableScan<int64_t> probable64 = nullptr;
  // p[i] = table[number[i]], and its inverse. Reads kNumbersAhead + kLaborPadding numbers more, and
  // writes up to kLaborPadding values more.
  void (*importances)(const double* table,
                      const int32_t* number,
                      int64_t count,
                      double* p,
                      double* inverse) = nullptr;
  // The same for p[i] = values[table[number[i]]], of which the inverses are known.
  void (*ranked)(const uint16_t* table,
                 const int32_t* number,
                 int64_t count,
                 const double* values,
                 const double* inverses,
                 double* p,
                 double* inverse) = nullptr;
  LaborWeights<float> weights32;
  LaborWeights<double> weights64;

  int64_t operator()(const DrawKeys& keys,
                     uint64_t threshold,
                     const int32_t* sources,
                     int64_t count,
                     uint32_t* accepted,
                     uint64_t* words = nullptr) const {
    return scan32(keys, word_bound(keys.mixture, threshold), sources, count, accepted, words);
  }
  int64_t operator()(const DrawKeys& keys,
                     uint64_t threshold,
                     const int64_t* sources,
                     int64_t count,
                     uint32_t* accepted,
                     uint64_t* words = nullptr) const {
    return scan64(keys, word_bound(keys.mixture, threshold), sources, count, accepted, words);
  }
  [[nodiscard]] const LaborWeights<float>& weights(const float* /*weights*/) const {
    return weights32;
  }
  [[nodiscard]] const LaborWeights<double>& weights(const double* /*weights*/) const {
    return weights64;
  }
  [[nodiscard]] LaborScan<int32_t> scan(const int32_t* /*sources*/) const { return scan32; }
  [[nodiscard]] LaborScan<int64_t> scan(const int64_t* /*sources*/) const { return scan64; }
  [[nodiscard]] ProbableScan<int32_t> probable(const int32_t* /*sources*/) const {
    return probable32;
  }
  [[nodiscard]] ProbableScan<int64_t> probable(const int64_t* /*sources*/) const {
    return probable64;
  }
};

[[nodiscard]] LaborKernel labor_portable();

}  // namespace ramet
