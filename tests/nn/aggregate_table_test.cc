#include "ramet/aggregate_table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "kernels/cpu/aggregate.h"
#include "nn/aggregate_table_cases.h"
#include "ramet/error.h"
#include "support/ids.h"

using namespace ramet;
using namespace ramet::test;

namespace {

std::vector<int64_t> some_ids() {
  return drawn_ids(kSources + 3, kRows);
}

void check_same(const Table& table, bool decode, const AggregateOptions& options) {
  const BlockEdges edges = some_edges();
  const std::vector<int64_t> ids = some_ids();
  const RowForm form = table.form(decode);
  const Array gathered = decode ? table.gather_float32(ids) : table.gather(ids);
  const Array expected = allocate(form.dtype, form.shape_of(kDestinations));
  const Array out = allocate(form.dtype, form.shape_of(kDestinations));
  aggregate(edges, gathered, expected, options);
  std::memset(out.data, 0x77, static_cast<size_t>(out.bytes()));
  aggregate_table(edges, table, borrow(ids), out, options);
  CHECK(std::memcmp(out.data, expected.data, static_cast<size_t>(out.bytes())) == 0);
}

}  // namespace

TEST_CASE("an aggregate of a table has the bits of gathered rows") {
  for (const int64_t width : {1, 3, 4, 8, 9, 16, 31, 64, 100, 128}) {
    std::vector<float> weights(kEdges);
    for (size_t e = 0; e < weights.size(); ++e)
      weights[e] = value_at(static_cast<int64_t>(e) + 5);
    const Array of_edges = borrow(weights);
    for (const int threads : {1, 3}) {
      for (const Reduce reduce : {Reduce::kSum, Reduce::kMean, Reduce::kMax, Reduce::kMin}) {
        for (const bool weighted : {false, true}) {
          if (weighted && reduce != Reduce::kSum && reduce != Reduce::kMean) continue;
          const AggregateOptions options{
              .reduce = reduce, .weights = weighted ? &of_edges : nullptr, .threads = threads};
          for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
            const Table table = table_of(dtype, width);
            check_same(table, true, options);
            check_same(table, false, options);
          }
          for (const bool by_row : {true, false})
            check_same(quantized(width, by_row), true, options);
        }
      }
    }
  }
}

TEST_CASE("what does not fit a table's aggregate is refused") {
  const BlockEdges edges = some_edges();
  const Table table = table_of(DType::kFloat16, 4);
  std::vector<int64_t> ids = some_ids();
  const auto into = [&](const Array& out, const Table& from) {
    aggregate_table(edges, from, borrow(ids), out, {});
  };
  const Array out = allocate(DType::kFloat32, {kDestinations, 4});
  CHECK_THROWS_WITH_AS(
      into(allocate(DType::kFloat64, {kDestinations, 4}), table),
      "out is float64[40, 4], which sums of rows of table, float16[300, 4], are not", Error);
  CHECK_THROWS_AS(into(allocate(DType::kFloat32, {kDestinations, 3}), table), Error);
  CHECK_THROWS_AS(into(allocate(DType::kFloat32, {kDestinations + 1, 4}), table), Error);
  CHECK_THROWS_AS(into(out, Table(allocate(DType::kInt8, {kRows, 4}))), Error);
  ids[7] = kRows;
  CHECK_THROWS_WITH_AS(into(out, table), "ids[7] = 300 is outside the 300 rows of table", Error);
  ids[7] = -1;
  CHECK_THROWS_WITH_AS(into(out, table), "ids[7] = -1 is outside the 300 rows of table", Error);
  ids.resize(kSources - 1);
  CHECK_THROWS_WITH_AS(into(out, table), "ids are int64[119], expected int64[120] or more", Error);
}
