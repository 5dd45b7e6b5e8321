#include "base/permutation.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ramet/random.h"

using namespace ramet;

// docs/semantics.md, section 6.
TEST_CASE("a permutation hits every position once, for every small n and some larger") {
  std::vector<int64_t> sizes(70);
  std::iota(sizes.begin(), sizes.end(), 0);
  sizes.insert(sizes.end(), {1000, 4096, 4097, 65536, 100'003});
  for (const int64_t n : sizes) {
    const Permutation permutation(n, mix64(static_cast<uint64_t>(n)));
    std::vector<int64_t> image(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
      image[static_cast<size_t>(i)] = permutation(i);
    std::sort(image.begin(), image.end());
    for (int64_t i = 0; i < n; ++i)
      REQUIRE(image[static_cast<size_t>(i)] == i);
  }
}

TEST_CASE("every element is equally likely at every position, for every small n") {
  constexpr int kKeys = 1000;
  double worst = 0;
  for (int64_t n = 2; n <= 40; ++n) {
    std::vector<int> counts(static_cast<size_t>(n * n));
    for (uint64_t key = 0; key < kKeys; ++key) {
      const Permutation permutation(n, absorb(mix64(static_cast<uint64_t>(n)), key));
      for (int64_t i = 0; i < n; ++i)
        ++counts[static_cast<size_t>(i * n + permutation(i))];
    }
    // Sums of rows and columns are fixed: (n - 1)^2 free directions of variance keys / (n - 1).
    const auto expected = static_cast<double>(kKeys) / static_cast<double>(n);
    const auto free = static_cast<double>((n - 1) * (n - 1));
    double sum = 0;
    for (const int count : counts)
      sum += std::pow(count - expected, 2);
    const double chi2 = sum * static_cast<double>(n - 1) / kKeys;
    worst = std::max(worst, (chi2 - free) / std::sqrt(2 * free));
    CHECK(chi2 > free - 4 * std::sqrt(2 * free));
  }
  CHECK(worst < 8);  // one degree of freedom has long tails: 8 is p = 5e-4 there, 1e-10 with many
}

// Feistel rounds alone are even where n is a power of two (4096), and of few kinds close to one.
TEST_CASE("even and odd permutations are equally likely") {
  for (const int64_t n : {2, 3, 4, 64, 128, 255, 256, 257, 1000, 1023, 1024}) {
    CAPTURE(n);
    const int keys = n < 500 ? 1000 : 250;
    int odd = 0;
    for (int key = 0; key < keys; ++key) {
      const Permutation permutation(n, absorb(17, static_cast<uint64_t>(key)));
      std::vector<bool> seen(static_cast<size_t>(n));
      int64_t cycles = 0;
      for (int64_t start = 0; start < n; ++start) {
        cycles += seen[static_cast<size_t>(start)] ? 0 : 1;
        for (int64_t i = start; !seen[static_cast<size_t>(i)]; i = permutation(i))
          seen[static_cast<size_t>(i)] = true;
      }
      odd += static_cast<int>((n - cycles) % 2);
    }
    CHECK(std::abs(odd - keys / 2) < 2.0 * std::sqrt(keys));  // 4 standard deviations
  }
}

// What two positions of n = 256 that differ in the upper, left half of their bits become: any two.
TEST_CASE("pairs of positions that differ in the left half alone go anywhere") {
  constexpr int kKeys = 2000;
  std::vector<int> counts(256);  // by the difference of what they become
  for (uint64_t key = 0; key < kKeys; ++key) {
    const Permutation permutation(256, absorb(23, key));
    for (int64_t right = 0; right < 16; ++right) {
      const int64_t left = static_cast<int64_t>(key % 15) + 1;
      ++counts[static_cast<size_t>(permutation(right) ^ permutation(left * 16 + right))];
    }
  }
  CHECK(counts[0] == 0);
  double chi2 = 0;
  for (size_t i = 1; i < 256; ++i)
    chi2 += std::pow(counts[i] - kKeys * 16 / 255.0, 2) / (kKeys * 16 / 255.0);
  CHECK(chi2 < 346);  // 254 degrees of freedom: p = 1e-4
}

TEST_CASE("positions far beyond 32 bits work") {
  const int64_t n = (int64_t{1} << 40) + 12345;
  const Permutation permutation(n, 5);
  for (int64_t i = 0; i < 1000; ++i) {
    CHECK(permutation(n - 1 - i) >= 0);
    CHECK(permutation(n - 1 - i) < n);
  }
}
