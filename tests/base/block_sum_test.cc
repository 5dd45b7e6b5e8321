// docs/semantics.md, section 8: sums in blocks.
#include "base/block_sum.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "ramet/random.h"

namespace ramet {
namespace {

std::vector<double> random_terms(size_t count) {
  std::vector<double> terms;
  for (uint64_t i = 0; i < count; ++i)
    terms.push_back(std::exp(static_cast<double>(mix64(i + 1) >> 11) * 0x1p-50));
  return terms;
}

double sum_in_order(const std::vector<double>& terms) {
  double sum = 0;
  for (const double term : terms)
    sum += term;
  return sum;
}

double sum_of(const std::vector<double>& terms) {
  return sum_in_blocks(terms.size(), [&](size_t i) { return terms[i]; });
}

}  // namespace

TEST_CASE("up to 1,024 terms are summed in order") {
  for (const size_t count : {0, 1, 1000, 1023, 1024}) {
    const auto terms = random_terms(count);
    CHECK(sum_of(terms) == sum_in_order(terms));
  }
}

TEST_CASE("the sums of blocks of 1,024 terms are summed in order") {
  for (const size_t count : {1025, 3072, 3073, 3500, 4096, 4097, 5000, 8000}) {
    const auto terms = random_terms(count);
    double expected = 0;
    for (size_t block = 0; block < count; block += 1024) {
      const auto first = terms.begin() + static_cast<long>(block);
      expected += sum_in_order({first, block + 1024 < count ? first + 1024 : terms.end()});
    }
    CHECK(sum_of(terms) == expected);
    if (count == 5000) CHECK(sum_of(terms) != sum_in_order(terms));
  }
}

}  // namespace ramet
