// Searches side by side, beside std::lower_bound.
#include "base/sorted_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace ramet;

namespace {

// Ascends, in [0, limit): evenly for power 1, and most values are small for a large one.
template <typename T>
std::vector<T> values(size_t count, double limit, double power, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<T> result;
  for (size_t i = 0; i < count; ++i)
    result.push_back(
        static_cast<T>(std::pow(static_cast<double>(random()) * 0x1p-64, power) * (limit - 1)));
  std::sort(result.begin(), result.end());
  return result;
}

// Of random ranges, for values that are there, values beside those, and extreme ones.
template <typename T>
std::vector<SortedSearch> searches_in(const std::vector<T>& values, size_t count) {
  std::mt19937_64 random(count);
  std::vector<SortedSearch> result;
  for (size_t i = 0; i < count; ++i) {
    auto begin = static_cast<int64_t>(random() % (values.size() + 1));
    auto end = static_cast<int64_t>(random() % (values.size() + 1));
    if (end < begin) std::swap(begin, end);
    const int64_t near = values.empty() ? 0 : values[random() % values.size()];
    const int64_t wanted[] = {near, near - 1, near + 1, std::numeric_limits<int64_t>::min(),
                              std::numeric_limits<int64_t>::max()};
    result.push_back({begin, end, wanted[i % std::size(wanted)]});
  }
  return result;
}

template <typename T>
void check(const std::vector<T>& values, ValueRange all) {
  const auto asked = searches_in(values, 700);
  auto found = asked;
  search_sorted(borrow(values), all, found);
  for (size_t i = 0; i < asked.size(); ++i) {
    const auto& [begin, end, wanted] = asked[i];
    REQUIRE(found[i].begin ==
            std::lower_bound(values.begin() + begin, values.begin() + end, wanted) -
                values.begin());
    REQUIRE(found[i].end == end);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("searches side by side find what one alone finds", T, int32_t, int64_t) {
  for (const size_t count : {0U, 1U, 7U, 15U, 16U, 17U, 40U, 300U, 20'000U}) {
    for (const double power : {1.0, 4.0, 40.0}) {
      const auto even = values<T>(count, 1e6, power, count);
      check(even, {0, 1'000'000});
      check(even, {-1'000'000, 10});  // a range that does not hold costs time alone
      check(even, {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()});
      check(even, {0, 0});
    }
    check(std::vector<T>(count, 5), {0, 10});
  }
}

TEST_CASE_TEMPLATE("a search where values do not ascend ends in its range", T, int32_t, int64_t) {
  using All = std::numeric_limits<T>;
  std::mt19937_64 random(1);
  std::vector<T> values(3000);
  for (T& value : values)
    value = random() % 8 == 0 ? (random() % 2 == 0 ? All::min() / 2 : All::max() / 2)
                              : static_cast<T>(random() % 1000);
  const auto asked = searches_in(values, 700);
  auto found = asked;
  search_sorted(borrow(values), {0, 1000}, found);
  for (size_t i = 0; i < asked.size(); ++i)
    REQUIRE((asked[i].begin <= found[i].begin && found[i].begin <= asked[i].end));
}
