// external_gather against a plain loop, with so little memory that runs and ranges are many.
#include "ramet/external_gather.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "ramet/error.h"
#include "support/graph_fixture.h"
#include "support/process_entries.h"
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
