#include "labor_scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

#include "base/dependent_lanes.h"
#include "base/exponential_lanes.h"
#include "base/lanes_scalar.h"
#include "base/prefetch.h"

namespace ramet {
namespace {

// Whether a source is accepted is as good as random in rows that are not much longer than the
// fanout, so it is not branched on.
template <typename Index>
int64_t scan(const DrawKeys& source_keys,
             const WordBound& bound,
             const Index* sources,
             int64_t count,
             uint32_t* accepted,
             uint64_t* words) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kLaborAhead < count) prefetch(sources + i + kLaborAhead);
    const auto source = static_cast<std::make_unsigned_t<Index>>(sources[i]);
    const uint64_t word = draw_word(source_keys, source);
    accepted[size] = static_cast<uint32_t>(i);
    if (words != nullptr) words[size] = word;
    size += word <= bound.word ? 1 : 0;
  }
  return size;
}

template <typename Index>
int64_t probable(const DrawKeys& source_keys,
                 const Index* sources,
                 const double* p,
                 int64_t count,
                 double c,
                 uint64_t* words,
                 uint32_t* found) {
  int64_t size = 0;
  for (int64_t i = 0; i < count; ++i) {
    words[i] = draw_word(source_keys, static_cast<std::make_unsigned_t<Index>>(sources[i]));
    found[size] = static_cast<uint32_t>(i);
    size += fraction_lanes<Scalar>(words[i]) - 0x1p-53 <= p[i] * c * kProbableSlack ? 1 : 0;
  }
  return size;
}

void importances(
    const double* table, const int32_t* number, int64_t count, double* p, double* inverse) {
  for (int64_t i = 0; i < count; ++i) {
    prefetch(&table[number[i + kNumbersAhead]]);
    p[i] = table[number[i]];
    inverse[i] = 1 / p[i];
  }
}

void ranked(const uint16_t* table,
            const int32_t* number,
            int64_t count,
            const double* values,
            const double* inverses,
            double* p,
            double* inverse) {
  for (int64_t i = 0; i < count; ++i) {
    prefetch(&table[number[i + kNumbersAhead]]);
    const uint16_t rank = table[number[i]];
    p[i] = values[rank];
    inverse[i] = inverses[rank];
  }
}

template <typename Weight>
double sum_of_weights(const Weight* weights, int64_t count) {
  double sum = 0;
  bool all_are = true;
  for (int64_t i = 0; i < count; ++i) {
    const auto weight = static_cast<double>(weights[i]);
    all_are &= is_weight(weight);
    sum += weight;
  }
  return all_are ? sum : std::numeric_limits<double>::quiet_NaN();
}

template <typename Weight>
ShareBlock block_of_shares(const Weight* weights, int64_t count, double sum, double* out) {
  ShareBlock block = {0, 0};
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<double>(weights[i]) / sum;
    block.kept += out[i] >= kSmallestWeight ? 1 : 0;
    block.sum += out[i];
  }
  return block;
}

constexpr double kAnyNormal = 11.9;  // larger than any of a word

// Ranges ascend from kLeastNow on.
constexpr size_t range_of(size_t r) {
  constexpr size_t kFirst = 2 * (127 + std::bit_width(kLeastNow) - 1);
  return (kFirst + r) % kNowRanges;
}

// By range, of its least word: that as a float may be rounded up.
std::array<double, kNowRanges> largest_normals() {
  std::array<double, kNowRanges> normals = {};
  for (size_t r = 0; r < kNowRanges; ++r) {
    const uint64_t least = (uint64_t{kLeastNow} << 33) / 2 * (2 + r % 2) << r / 2;
    normals[r] = normal_of_word<Scalar>(least - (least >> 20));
  }
  return normals;
}

}  // namespace

WordBound mixed_word_bound(const Mixture& mixture, uint64_t word) {
  constexpr uint64_t kWorthBounds = uint64_t{3} << 62;  // of larger words most are accepted
  constexpr uint64_t kSlack = uint64_t{1} << 14;        // more than words and
  constexpr double kNormalSlack = 1e-6;                 // normals are off by
  constexpr uint32_t kAll = 0x7fffffff;
  static const std::array<double, kNowRanges> most_now = largest_normals();
  WordBound bound{word, {}};
  std::fill_n(bound.next, kNowRanges, kAll);
  if (word > kWorthBounds) return bound;
  const double z = normal_of_word<Scalar>(word + kSlack) - kNormalSlack;
  for (size_t r = 1; r < kNowRanges; ++r) {
    const double least_next = (z - mixture.cos * most_now[r]) / mixture.sin;
    const uint64_t most = word_of_normal<Scalar>(std::clamp(least_next, -kAnyNormal, kAnyNormal));
    bound.next[range_of(r)] = std::min(kAll, static_cast<uint32_t>(most >> 33) + 1);
  }
  return bound;
}

LaborKernel labor_portable() {
  return {scan<int32_t>,
          scan<int64_t>,
          probable<int32_t>,
          probable<int64_t>,
          importances,
          ranked,
          {sum_of_weights<float>, block_of_shares<float>},
          {sum_of_weights<double>, block_of_shares<double>}};
}

}  // namespace ramet
