// Rows that are taken and added, against one row after the other.
#include "ramet/exchange.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "support/errors.h"
#include "support/ids.h"
#include "support/values.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kRows = 37;

template <typename T>
Array rows_of(std::vector<T>& values, std::vector<int64_t> shape) {
  Array array = borrow(values);
  array.shape = std::move(shape);
  array.writable = true;
  return array;
}

template <typename T>
void check_sums(int64_t count, int64_t width) {
  const auto ids = drawn_ids<int32_t>(count, kRows);
  auto values = drawn_values<T>(count * width, 1);
  const auto before = drawn_values<T>(kRows * width, 2);
  auto expected = before;
  for (size_t i = 0; i < ids.size(); ++i) {
    for (int64_t column = 0; column < width; ++column)
      expected[static_cast<size_t>(int64_t{ids[i]} * width + column)] +=
          values[static_cast<size_t>(static_cast<int64_t>(i) * width + column)];
  }
  for (const int threads : {1, 2, 8}) {
    CAPTURE(threads);
    auto out = before;
    add_rows(rows_of(out, {kRows, width}), ids, rows_of(values, {count, width}), threads);
    CHECK(out == expected);  // to the bit
  }
}

}  // namespace

TEST_CASE("rows are added one after the other, to the bit, for any number of threads") {
  for (const int64_t width : {1, 3, 15, 16, 17, 33, 100, 256}) {
    CAPTURE(width);
    for (const int64_t count : {0, 1, 5, 16, 400}) {
      check_sums<float>(count, width);
      check_sums<double>(count, width);
    }
  }
}

TEST_CASE("rows are taken one after the other, for any number of threads") {
  for (const int64_t width : {1, 3, 16, 100}) {
    for (const int64_t count : {0, 1, 1023, 1024, 1025, 5000}) {
      const auto ids = drawn_ids<int32_t>(count, kRows);
      auto rows = drawn_values<float>(kRows * width, 3);
      std::vector<float> expected;
      for (const int32_t id : ids)
        expected.insert(expected.end(), rows.begin() + id * width, rows.begin() + (id + 1) * width);
      for (const int threads : {1, 2, 8}) {
        std::vector<float> out(expected.size());
        take_rows(rows_of(rows, {kRows, width}), ids, rows_of(out, {count, width}), threads);
        CHECK(out == expected);
      }
    }
  }
}

TEST_CASE("rows of several dimensions, of one element, and of none") {
  const std::vector<int32_t> ids{2, 0, 2};
  std::vector<float> values(3 * 4, 1.F), out(3 * 4, 0.F);
  add_rows(rows_of(out, {3, 2, 2}), ids, rows_of(values, {3, 2, 2}), 2);
  CHECK(out == std::vector<float>{1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2});
  std::vector<double> one(3), three{1, 2, 4};
  add_rows(rows_of(one, {3}), ids, rows_of(three, {3}), 8);
  CHECK(one == std::vector<double>{2, 0, 5});
  std::vector<float> none;
  CHECK_NOTHROW(add_rows(rows_of(none, {3, 0}), ids, rows_of(none, {3, 0}), 2));
  CHECK_NOTHROW(add_rows(rows_of(none, {0, 4}), {}, rows_of(none, {0, 4}), 2));
}

TEST_CASE("what does not fit is refused before anything is written") {
  std::vector<float> out(3 * 4, 0.F), values(2 * 4, 1.F);
  std::vector<double> wide(2 * 4, 1.);
  std::vector<int64_t> whole(2 * 4, 1);
  const Array to = rows_of(out, {3, 4}), from = rows_of(values, {2, 4});
  const std::vector<int32_t> good{0, 2};
  const auto throws = [&](ErrorCode code, const Array& a, const std::vector<int32_t>& ids,
                          const Array& b, const std::string& words, int threads = 1) {
    check_throws(code, {words}, [&] { add_rows(a, ids, b, threads); });
  };
  const auto invalid = ErrorCode::kInvalidArgument;
  for (const int32_t id :
       {3, -1, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()})
    throws(ErrorCode::kOutOfRange, to, {0, id}, from,
           "ids[1] = " + std::to_string(id) + " is outside the 3 rows");
  throws(invalid, to, {0}, from, "1 rows of");
  throws(invalid, to, {0, 1, 2}, from, "3 rows of");
  throws(invalid, to, good, rows_of(values, {2, 2, 2}), "float32[2, 2, 2]");
  throws(invalid, to, good, rows_of(values, {2, 3}), "float32[2, 3]");
  throws(invalid, to, good, rows_of(values, {2}), "float32[2]");
  throws(invalid, to, good, rows_of(wide, {2, 4}), "float64[2, 4]");
  throws(invalid, rows_of(whole, {2, 4}), good, rows_of(whole, {2, 4}), "float32 and float64 can");
  throws(invalid, to, good, from, "threads is 0", 0);
  throws(invalid, to, good, from, "threads is -3", -3);
  CHECK(out == std::vector<float>(3 * 4, 0.F));
  CHECK_THROWS_AS(take_rows(to, std::vector<int32_t>{0, 3}, from), Error);
  CHECK_THROWS_AS(take_rows(to, std::vector<int32_t>{0}, from), Error);
  CHECK_THROWS_AS(take_rows(to, good, rows_of(wide, {2, 4})), Error);
  CHECK_THROWS_AS(take_rows(to, good, from, 0), Error);
}
