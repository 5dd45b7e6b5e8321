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
  return sum_in_blocks(terms, [](double term) { return term; });
}

}  // namespace

TEST_CASE("up to 1,024 terms are summed in order") {
  for (const size_t count : {0, 1, 1000, 1023, 1024}) {
    const auto terms = random_terms(count);
    CHECK(sum_of(terms) == sum_in_order(terms));
  }
}

TEST_CASE("the sums of blocks of 1,024 terms are summed in order") {
  const auto terms = random_terms(5000);
  double expected = 0;
  for (size_t block = 0; block < 5; ++block) {
    const auto first = terms.begin() + static_cast<long>(1024 * block);
    const auto end = block < 4 ? first + 1024 : terms.end();
    expected += sum_in_order({first, end});
  }
  CHECK(sum_of(terms) == expected);
  CHECK(sum_of(terms) != sum_in_order(terms));
}

}  // namespace ramet
