// That kernels run at all, with shared memory, barriers and shuffles.
#include <doctest/doctest.h>

#include <cstddef>
#include <numeric>

#include "cuda/block_sums.h"

TEST_CASE("blocks of a kernel share memory and exchange values") {
  std::vector<uint32_t> values(256 * 20);
  std::iota(values.begin(), values.end(), 7u);
  const auto sums = block_sums(values);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const auto first = values.begin() + long(256 * b);
    CHECK(sums[b] == std::accumulate(first, first + 256, 0u));
  }
}
