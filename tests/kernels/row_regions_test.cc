// docs/cuda.md, "How fast": the regions by which the rows of a gather are sorted.
#include "kernels/cuda_row_regions.h"

#include <doctest/doctest.h>

#include "ramet/error.h"
#include "ramet/row_order.h"

namespace ramet {
namespace {

TEST_CASE("regions have 2 MiB, and tables at most 2^16 of them") {
  for (const int64_t row_bytes : {1, 100, 4096, 1 << 22})
    for (const int64_t num_rows : {int64_t{0}, int64_t{1}, int64_t{12345}, int64_t{1} << 31}) {
      const RowRegions regions = row_regions(num_rows, row_bytes);
      CHECK(regions.count >= 1);
      CHECK(regions.count <= kMostRegions);
      CHECK(regions.shift >= kRegionBits);
      if (num_rows > 0) CHECK(regions.count - 1 == (((num_rows - 1) * row_bytes) >> regions.shift));
      if (num_rows * row_bytes <= kMostRegions << kRegionBits) CHECK(regions.shift == kRegionBits);
    }
}

TEST_CASE("many ids of a large table are sorted") {
  CHECK(pays_to_sort(kSortedTableBytes, kLeastSortedIds));
  CHECK(!pays_to_sort(kSortedTableBytes - 1, kLeastSortedIds));
  CHECK(!pays_to_sort(kSortedTableBytes, kLeastSortedIds - 1));
  CHECK(!pays_to_sort(kSortedTableBytes, kMostSortedIds + 1));
}

TEST_CASE("orders have names") {
  for (const RowOrder order : {RowOrder::kAuto, RowOrder::kSorted, RowOrder::kAsGiven})
    CHECK((row_order_named(name(order)) == order));
  CHECK_THROWS_AS(row_order_named("random"), Error);
}

}  // namespace
}  // namespace ramet
