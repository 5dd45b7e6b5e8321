#include "ramet/table_rows.h"

#include <doctest/doctest.h>

#include <vector>

#include "support/listed.h"
#include "support/store_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kTableRows = 300, kWidth = 3;
constexpr NodeRange kAll = {0, kTableRows};

// One value after the other, as the definition says.
std::vector<float> summed(std::vector<float> table, const std::vector<RowList>& lists) {
  for (int64_t row = 0; row < kTableRows; ++row) {
    std::vector<float> sum;
    for (const auto& [ids, rows] : lists) {
      for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] != row) continue;
        const float* value = rows.as<float>().data() + i * kWidth;
        if (sum.empty())
          sum.assign(kWidth, 0), std::copy_n(value, kWidth, sum.begin());
        else
          for (size_t c = 0; c < kWidth; ++c)
            sum[c] += value[c];
      }
    }
    for (size_t c = 0; c < sum.size(); ++c)
      table[static_cast<size_t>(row) * kWidth + c] += sum[c];
  }
  return table;
}

}  // namespace

TEST_CASE("one list, or its parts, owned by one or by many, give the same bits") {
  const Listed whole(1000, kTableRows, kWidth, 1);
  const std::vector<float> before(static_cast<size_t>(kTableRows * kWidth), 0.5F);
  const std::vector<RowList> one = {whole.list()};
  const std::vector<float> expected = summed(before, one);
  const std::vector<RowList> parts = {whole.part(0, 300), whole.part(300, 300),
                                      whole.part(300, 999), whole.part(999, 1000)};
  for (const auto& lists : {one, parts}) {
    for (const int64_t owners : {1, 2, 5}) {
      std::vector<float> sums = before, sets = before, last = before;
      for (int64_t k = 0; k < owners; ++k) {
        const NodeRange own = {k * kTableRows / owners, (k + 1) * kTableRows / owners};
        sum_rows(writable(sums, kWidth), lists, own, 2);
        set_rows(writable(sets, kWidth), lists, own, 2);
      }
      for (const auto& [ids, rows] : one)
        for (size_t i = 0; i < ids.size(); ++i)
          std::copy_n(rows.as<float>().data() + i * kWidth, kWidth, last.begin() + ids[i] * kWidth);
      CHECK(sums == expected);
      CHECK(sets == last);
    }
  }
}

TEST_CASE("lists of a narrow table may be narrow or float32") {
  const Listed whole(50, kTableRows, kWidth, 2);
  std::vector<uint16_t> narrow(50 * kWidth), table(static_cast<size_t>(kTableRows * kWidth));
  for (size_t i = 0; i < narrow.size(); ++i)
    narrow[i] = static_cast<uint16_t>(0x3f80 + i % 64);  // bfloat16 in [1, 1.5)
  std::vector<float> wide(narrow.size());
  for (size_t i = 0; i < wide.size(); ++i)
    wide[i] = 1.0F + static_cast<float>(i % 64) / 128;
  const Array out{table.data(), DType::kBFloat16, {kTableRows, kWidth}, nullptr, true};
  const Array as_narrow{narrow.data(), DType::kBFloat16, {50, kWidth}, nullptr, false};
  const Array as_wide{wide.data(), DType::kFloat32, {50, kWidth}, nullptr, false};
  const std::span<const int64_t> ids = whole.list().ids;
  sum_rows(out, std::vector<RowList>{{ids, as_narrow}, {ids, as_wide}}, kAll);
  const auto mixed = table;
  std::fill(table.begin(), table.end(), uint16_t{0});
  sum_rows(out, std::vector<RowList>{{ids, as_wide}, {ids, as_wide}}, kAll);
  CHECK(mixed == table);
  CHECK(std::count(table.begin(), table.end(), 0) < std::ssize(table));
}

TEST_CASE("rows that do not fit are refused before anything is written") {
  const Listed good(4, kTableRows, kWidth, 3), wide(4, kTableRows, kWidth + 1, 4);
  const std::vector<int64_t> outside = {0, kTableRows};
  std::vector<float> table(static_cast<size_t>(kTableRows * kWidth));
  const auto before = table;
  const Array out = writable(table, kWidth);
  const RowList bad_id = {outside, good.part(0, 2).rows};
  check_throws(ErrorCode::kOutOfRange, {"ids[1] = 300 is outside the 300 rows"},
               [&] { set_rows(out, std::vector<RowList>{good.list(), bad_id}, kAll); });
  check_throws(ErrorCode::kInvalidArgument, {"float32[4, 4], which do not fit 4 ids"},
               [&] { sum_rows(out, std::vector<RowList>{good.list(), wide.list()}, kAll); });
  for (const NodeRange own : {NodeRange{-1, 4}, NodeRange{5, 4}, NodeRange{0, kTableRows + 1}})
    check_throws(ErrorCode::kInvalidArgument, {"of 300"},
                 [&] { sum_rows(out, std::vector<RowList>{good.list()}, own); });
  CHECK(table == before);
}
