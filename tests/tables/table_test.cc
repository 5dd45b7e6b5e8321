#include "ramet/table.h"

#include <doctest/doctest.h>

#include <vector>

#include "kernels/kernels.h"
#include "ramet/error.h"

using namespace ramet;

TEST_CASE("no ids, no rows and rows of no width are fine") {
  std::vector<float> data(10);
  const Array rows{data.data(), DType::kFloat32, {10}, nullptr, false};
  CHECK(Table(rows).gather({}, 2).rows() == 0);
  const Array narrow{data.data(), DType::kFloat32, {10, 0}, nullptr, false};
  const std::vector<int64_t> ids{1, 9};
  CHECK(Table(narrow).gather(ids).shape == std::vector<int64_t>{2, 0});
}

TEST_CASE("an id outside the table is named, whoever finds it") {
  std::vector<double> data(10);
  const Table table({data.data(), DType::kFloat64, {10}, nullptr, false}, "table 'feat'");
  std::vector<int64_t> ids(100'000, 3);
  ids[77'777] = 10;
  CHECK_THROWS_WITH_AS(table.gather(ids, 4),
                       "ids[77777] = 10 is outside the 10 rows of table 'feat'", Error);
  ids[77'777] = -1;
  CHECK_THROWS_AS(table.gather(ids, 1), Error);
}

TEST_CASE("the CUDA backend is a source file, present or absent") {
  CHECK(cpu_kernels() != nullptr);
}
