#include "kernels/cpu/within.h"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "support/each_isa.h"
#include "support/ids.h"

using namespace ramet;

TEST_CASE("every kernel finds the values in a range, of any signs and to both ends") {
  using All = std::numeric_limits<int64_t>;
  const std::vector<int64_t> ends{All::min(), All::min() + 1, -3, 0, 4, All::max() - 1, All::max()};
  for (const Within within : of_each_isa(&IsaKernels::within)) {
    for (int64_t count = 0; count < 50; ++count) {
      std::vector<int64_t> values = test::drawn_ids(count, 12, 7);
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = i % 3 == 0 ? ends[i % ends.size()] : values[i] - 6;
      for (size_t a = 0; a < ends.size(); ++a) {
        for (size_t b = a; b < ends.size(); ++b) {
          std::vector<uint32_t> expected, found(values.size() + kWithinPadding);
          for (size_t i = 0; i < values.size(); ++i)
            if (ends[a] <= values[i] && values[i] <= ends[b])
              expected.push_back(static_cast<uint32_t>(i));
          found.resize(
              static_cast<size_t>(within(ends[a], ends[b], values.data(), count, found.data())));
          REQUIRE(found == expected);
        }
      }
    }
  }
}
