#include "ramet/permutation.h"

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

TEST_CASE("every element is equally likely at every position") {
  constexpr int64_t kN = 7;
  constexpr int kKeys = 70'000;
  std::vector<int> counts(kN * kN);
  for (uint64_t key = 0; key < kKeys; ++key) {
    const Permutation permutation(kN, absorb(99, key));
    for (int64_t i = 0; i < kN; ++i)
      ++counts[static_cast<size_t>(i * kN + permutation(i))];
  }
  double chi2 = 0;
  for (const int count : counts)
    chi2 += std::pow(count - kKeys / 7.0, 2) / (kKeys / 7.0);
  CHECK(chi2 < 75);  // 36 degrees of freedom: p = 1e-4 at 75
}

TEST_CASE("positions far beyond 32 bits work") {
  const int64_t n = (int64_t{1} << 40) + 12345;
  const Permutation permutation(n, 5);
  for (int64_t i = 0; i < 1000; ++i) {
    CHECK(permutation(n - 1 - i) >= 0);
    CHECK(permutation(n - 1 - i) < n);
  }
}
