// Statistical tests of streams of random words, each giving a p-value. A stream is a function of
// its number and a counter: neighbouring numbers are neighbouring keys.
//
// The tests are those of Knuth (The Art of Computer Programming, volume 2, section 3.3.2) and
// Marsaglia ("The Marsaglia random number CDROM with the Diehard battery", 1995), sized to run in
// a second together.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ramet/random.h"
#include "support/slow_build.h"
#include "support/statistics.h"

namespace ramet::test {

using Streams = std::function<uint64_t(uint64_t stream, uint64_t t)>;
using PValue = std::pair<std::string, double>;

inline constexpr uint64_t kWords = kSlowBuild ? 1 << 14 : 1 << 18;

// Every test takes word i from one stream, or across streams: the first words of each.
inline constexpr uint64_t kWordsPerStream = 16;

inline uint64_t along(const Streams& r, uint64_t i) {
  return r(0, i);
}
inline uint64_t across(const Streams& r, uint64_t i) {
  return r(i / kWordsPerStream, i % kWordsPerStream);
}
using Order = uint64_t (*)(const Streams&, uint64_t);

// How well counts fit, from both sides where there are many: too even is as bad as too uneven.
inline double fit(std::span<const int64_t> counts, std::span<const double> expected) {
  const double p = chi2_p(counts, expected);
  return counts.size() < 256 ? p : 2 * std::min(p, 1 - p);
}
inline double fit_even(std::span<const int64_t> counts) {
  const double cell = static_cast<double>(kWords) / static_cast<double>(counts.size());
  return fit(counts, std::vector<double>(counts.size(), cell));
}

// Equal frequency of the values of each of the eight bytes.
inline double bytes_test(const Streams& r, Order word) {
  std::array<std::vector<int64_t>, 8> counts;
  counts.fill(std::vector<int64_t>(256));
  for (uint64_t i = 0; i < kWords; ++i) {
    const uint64_t w = word(r, i);
    for (size_t byte = 0; byte < 8; ++byte)
      ++counts[byte][(w >> (8 * byte)) & 255];
  }
  double least = 1;
  for (const auto& of_byte : counts)
    least = std::min(least, fit_even(of_byte));
  return std::min(1.0, 8 * least);
}

// uniform_below(n): equal frequency of its values, or of 256 ranges of them where n is large.
inline double below_test(const Streams& r, Order word, uint64_t n) {
  const uint64_t cells = n <= kWords / 5 ? n : 256;
  std::vector<int64_t> counts(cells);
  std::vector<double> expected(cells);
  for (uint64_t i = 0; i < kWords; ++i)
    ++counts[static_cast<size_t>(uint128_t{uniform_below(word(r, i), n)} * cells / n)];
  for (uint64_t c = 0; c < cells; ++c) {  // values v with floor(v cells / n) = c
    const auto first = static_cast<uint64_t>((uint128_t{c} * n + cells - 1) / cells);
    const auto last = static_cast<uint64_t>((uint128_t{c + 1} * n + cells - 1) / cells);
    expected[c] =
        static_cast<double>(kWords) * static_cast<double>(last - first) / static_cast<double>(n);
  }
  return fit(counts, expected);
}

// Serial pairs: all combinations of five bits of a word and the same five of its successor in the
// stream, or in the next stream.
inline double pairs_test(const Streams& r, int shift, bool next_stream) {
  std::vector<int64_t> counts(1024);
  for (uint64_t i = 0; i < kWords; ++i) {
    const uint64_t stream = i / kWordsPerStream, t = 2 * (i % kWordsPerStream);
    const uint64_t a = r(stream, t), b = next_stream ? r(stream + 1, t) : r(stream, t + 1);
    ++counts[((a >> shift) & 31) * 32 + ((b >> shift) & 31)];
  }
  return fit_even(counts);
}

// Birthday spacings: of 512 birthdays in a year of 2^24 days the number of equal spacings is nearly
// Poisson with mean 512^3 / (4 x 2^24) = 2. The sum over repetitions is compared with its mean.
inline double birthday_test(const Streams& r, Order word, int shift) {
  constexpr uint64_t kBirthdays = 512, kDays = 1 << 24;
  double repeats = 0;
  for (uint64_t first = 0; first < kWords; first += kBirthdays) {
    std::vector<uint64_t> days, spacings;
    for (uint64_t i = 0; i < kBirthdays; ++i)
      days.push_back((word(r, first + i) >> shift) % kDays);
    std::sort(days.begin(), days.end());
    for (size_t i = 1; i < days.size(); ++i)
      spacings.push_back(days[i] - days[i - 1]);
    std::sort(spacings.begin(), spacings.end());
    for (size_t i = 1; i < spacings.size(); ++i)
      repeats += spacings[i] == spacings[i - 1];
  }
  const double mean = 2.0 * static_cast<double>(kWords / kBirthdays);
  return normal_p((repeats - mean) / std::sqrt(mean));
}

// Gaps between words whose top three bits are zero: geometric.
inline double gap_test(const Streams& r, Order word) {
  constexpr size_t kCells = 40;
  std::vector<int64_t> counts(kCells);
  size_t gap = 0;
  for (uint64_t i = 0; i < kWords; ++i) {
    if (word(r, i) >> 61 != 0) {
      ++gap;
    } else {
      ++counts[std::min(gap, kCells - 1)];
      gap = 0;
    }
  }
  double gaps = 0, share = 0.125;
  for (const int64_t count : counts)
    gaps += static_cast<double>(count);
  std::vector<double> expected;
  for (size_t c = 0; c + 1 < kCells; ++c, share *= 0.875)
    expected.push_back(gaps * share);
  expected.push_back(gaps * share / 0.125);
  return fit(counts, expected);
}

// Correlation of a stream with the next: the number of bits in which they differ is binomial, in
// sum and for each bit.
inline double neighbours_test(const Streams& r) {
  std::array<int64_t, 64> differ{};
  for (uint64_t i = 0; i < kWords; ++i) {
    const uint64_t stream = i / kWordsPerStream, t = i % kWordsPerStream;
    const uint64_t changed = r(stream, t) ^ r(stream + 1, t);
    for (size_t bit = 0; bit < 64; ++bit)
      differ[bit] += static_cast<int64_t>((changed >> bit) & 1);
  }
  const auto n = static_cast<double>(kWords);
  double chi2 = 0;
  for (const int64_t d : differ)
    chi2 += std::pow(static_cast<double>(d) - n / 2, 2) / (n / 4);
  return chi2_p(chi2, 64);
}

inline std::vector<PValue> battery(const Streams& r) {
  std::vector<PValue> results;
  for (const auto& [name, word] : {std::pair{" along", Order{along}}, {" across", Order{across}}}) {
    results.emplace_back(std::string("bytes") + name, bytes_test(r, word));
    for (const uint64_t n : {2ULL, 3ULL, 7ULL, 10ULL, 1000ULL, 40'000ULL, (1ULL << 32) - 5})
      results.emplace_back("below " + std::to_string(n) + name, below_test(r, word, n));
    for (const int shift : {0, 20, 40})
      results.emplace_back("birthdays " + std::to_string(shift) + name,
                           birthday_test(r, word, shift));
    results.emplace_back(std::string("gaps") + name, gap_test(r, word));
  }
  for (const int shift : {0, 30, 59}) {
    results.emplace_back("pairs " + std::to_string(shift), pairs_test(r, shift, false));
    results.emplace_back("pairs of streams " + std::to_string(shift), pairs_test(r, shift, true));
  }
  results.emplace_back("neighbours", neighbours_test(r));
  return results;
}

}  // namespace ramet::test
