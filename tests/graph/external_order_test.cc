// external_gather and external_argsort against plain loops, with so little memory that runs, ranges
// and groups are many.
#include "ramet/external_order.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "ramet/error.h"
#include "support/graph_fixture.h"
#include "support/process_entries.h"
#include "support/slow_build.h"
#include "support/temp_dir.h"

using namespace ramet;

namespace {

constexpr int64_t kLittle = 2 << 20;

// Rows of `width` values, all different.
std::vector<int64_t> values_of(int64_t rows, int64_t width) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < rows * width; ++i)
    values.push_back(3 * i + 1);
  return values;
}

void check_gather(int64_t rows, int64_t width, std::span<const int64_t> ids, int64_t memory) {
  CAPTURE(width);
  CAPTURE(memory);
  const test::TempDir folder;
  const std::vector<int64_t> values = values_of(rows, width);
  std::vector<int64_t> found(ids.size() * static_cast<size_t>(width));
  Array from = borrow(values), to = borrow(found);
  from.shape = {rows, width};
  to.shape = {std::ssize(ids), width};
  int64_t last = -1;
  external_gather(from, borrow(ids), to, {folder.path(), memory, 3},
                  [&](int64_t done, int64_t total) {
                    CHECK(last <= done);
                    last = done;
                    CHECK(total == to.bytes());
                    CHECK(test::entries_of(folder.path().c_str()) == 0);
                  });
  CHECK(last == to.bytes());
  bool is_equal = true;
  for (size_t i = 0; i < found.size(); ++i) {
    const int64_t row = ids[i / static_cast<size_t>(width)] % rows;
    const int64_t column = static_cast<int64_t>(i) % width;
    is_equal = is_equal && found[i] == values[static_cast<size_t>(row * width + column)];
  }
  CHECK(is_equal);
}

}  // namespace

TEST_CASE("external gather: rows that memory does not hold, and rows that it does") {
  constexpr int64_t kRows = 300'000;
  std::vector<int64_t> ids = test::random_edges(2 * kRows, 1, kRows + 7, 1).src;
  for (const int64_t memory : {kLittle, 100 * kLittle})
    check_gather(kRows, 1, ids, memory);
  std::fill(ids.begin() + 50'000, ids.begin() + 200'000, kRows - 1);  // a row that many want
  check_gather(kRows, 1, ids, kLittle);
  ids.resize(5'000);
  check_gather(kRows / 100, 101, ids = test::random_edges(kRows / 50, 1, 5'000, 2).src, kLittle);
  check_gather(40, 9'000, std::span<const int64_t>(std::vector<int64_t>{79, 1, 40, 3, 3}), kLittle);
  check_gather(kRows, 1, {}, kLittle);
}

TEST_CASE("external argsort: keys of narrow and wide ranges, repeated, and all the same") {
  constexpr int64_t kKeys = test::kSlowBuild ? 140'000 : 300'000;  // memory sorts 131,072
  constexpr auto kLowest = std::numeric_limits<int64_t>::min();
  const std::vector<int64_t> random = test::random_edges(1 << 29, 1, kKeys, 3).src;
  const auto keys_of = [&](auto key) {
    std::vector<int64_t> keys(random);
    for (size_t i = 0; i < keys.size(); ++i)
      keys[i] = key(static_cast<int64_t>(i), random[i]);
    return keys;
  };
  for (const auto& keys : {
           keys_of([](int64_t, int64_t r) { return r % 1'000 - 500; }),
           keys_of([](int64_t, int64_t r) { return (r << 34) + kLowest; }),
           keys_of([](int64_t i, int64_t r) { return i % 10 == 0 ? kLowest : (r << 30) + i; }),
           keys_of([](int64_t i, int64_t r) { return i == 7 ? int64_t{1} << 62 : r % 5; }),
           keys_of([](int64_t, int64_t) { return int64_t{42}; }),
           std::vector<int64_t>{3, 1, 2, 1},
           std::vector<int64_t>{},
       }) {
    const test::TempDir folder;
    std::vector<int64_t> expected(keys.size()), found(keys.size(), -1);
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(), [&](int64_t a, int64_t b) {
      return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)];
    });
    int64_t last = 0;
    external_argsort(borrow(keys), borrow(found), {folder.path(), kLittle, 1},
                     [&](int64_t done, int64_t) { last = done; });
    CHECK((found == expected));
    CHECK(last == std::ssize(keys) * 8);
    CHECK(test::entries_of(folder.path().c_str()) == 0);
  }
  const std::vector<int64_t> few(2), more(3);
  CHECK_THROWS_AS(external_argsort(borrow(few), borrow(more), {}), Error);
  CHECK_THROWS_WITH(external_argsort(borrow(few), borrow(few), {"/tmp", 10}),
                    "memory is 10 bytes, expected at least 2097152");
}

TEST_CASE("external gather: wrong arguments are named") {
  const test::TempDir folder;
  const std::vector<int64_t> rows(1 << 19), ids{0, 1 << 19, 1 << 20}, negative{-1};
  std::vector<int64_t> out(3), one(1), wide(8 << 19);
  const auto gather = [&](const Array& from, const Array& by, const Array& to, int64_t memory) {
    external_gather(from, by, to, {folder.path(), memory});
  };
  for (const int64_t memory : {kLittle, 100 * kLittle}) {
    CHECK_THROWS_WITH(gather(borrow(rows), borrow(ids), borrow(out), memory),
                      "id 2 is 1048576, outside [0, 2 * 524288)");
    CHECK_THROWS_AS(gather(borrow(rows), borrow(negative), borrow(one), memory), Error);
  }
  CHECK_THROWS_AS(gather(borrow(rows), borrow(ids), borrow(one), kLittle), Error);
  CHECK_THROWS_WITH(gather(borrow(rows), borrow(ids), borrow(out), 1000),
                    "memory is 1000 bytes, expected at least 2097152");
  Array table = borrow(wide), none = borrow(std::span<const int64_t>());
  table.shape = {8, 1 << 19};
  none.shape = {0, 1 << 19};
  CHECK_THROWS_WITH(gather(table, borrow(std::span<const int64_t>()), none, kLittle),
                    "memory is 2097152 bytes, expected at least 100663968");
}
