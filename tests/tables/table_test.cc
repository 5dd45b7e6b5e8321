#include "ramet/table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "kernels/kernels.h"
#include "ramet/error.h"
#include "ramet/random.h"

using namespace ramet;

TEST_CASE("gather equals a copy row by row, for every width and any number of threads") {
  constexpr int64_t kRows = 101;
  for (const int64_t width : {1, 2, 3, 7, 16, 63, 64, 65, 100, 257, 4096}) {
    std::vector<int8_t> bytes(static_cast<size_t>(kRows * width));
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = static_cast<int8_t>(mix64(i));
    Array rows{bytes.data(), DType::kInt8, {kRows, width}, nullptr, false};
    std::vector<int64_t> ids;
    for (uint64_t i = 0; i < 5000; ++i)
      ids.push_back(static_cast<int64_t>(mix64(i) % kRows));
    for (const int threads : {1, 2, 8}) {
      const Array out = Table(rows).gather(ids, threads);
      REQUIRE(out.shape == std::vector<int64_t>{5000, width});
      for (size_t i = 0; i < ids.size(); ++i) {
        REQUIRE(std::memcmp(static_cast<char*>(out.data) + static_cast<int64_t>(i) * width,
                            bytes.data() + ids[i] * width, static_cast<size_t>(width)) == 0);
      }
    }
  }
}

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
  CHECK_THROWS_WITH_AS((void)table.gather(ids, 4),
                       "ids[77777] = 10 is outside the 10 rows of table 'feat'", Error);
  ids[77'777] = -1;
  CHECK_THROWS_AS((void)table.gather(ids, 1), Error);
}

TEST_CASE("the CUDA backend is a source file, present or absent") {
  CHECK(cpu_kernels() != nullptr);
}
