#include "kernels/cpu/within.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "support/each_isa.h"
#include "support/ids.h"

using namespace ramet;

TEST_CASE_TEMPLATE("every kernel finds the values in a range, of any signs and to both ends",
                   Value,
                   int64_t,
                   uint16_t) {
  using All = std::numeric_limits<Value>;
  constexpr Value kMiddle = All::min() + All::max() / 2;
  const std::vector<Value> ends{All::min(), All::min() + 1, kMiddle, 3, All::max() - 1, All::max()};
  for (const Within& within : of_each_isa(&IsaKernels::within)) {
    for (int64_t count = 0; count < 70; ++count) {
      std::vector<Value> values;
      for (const int64_t drawn : test::drawn_ids(count, 12, 7)) {
        const size_t i = values.size();
        values.push_back(i % 3 == 0 ? ends[i % ends.size()] : static_cast<Value>(drawn - 6));
      }
      for (const Value first : ends) {
        for (const Value last : ends) {
          if (first > last) continue;
          std::vector<uint32_t> expected, found(values.size() + kWithinPadding);
          for (size_t i = 0; i < values.size(); ++i)
            if (first <= values[i] && values[i] <= last)
              expected.push_back(static_cast<uint32_t>(i));
          int64_t size = 0;
          if constexpr (sizeof(Value) == 2) {
            const auto is_end = [&](Value value) { return value == first || value == last; };
            const FoundCodes codes = within.of16(first, last, values.data(), count, found.data());
            size = codes.count;
            REQUIRE(codes.any_at_ends == std::any_of(values.begin(), values.end(), is_end));
          } else {
            size = within.of64(first, last, values.data(), count, found.data());
          }
          found.resize(static_cast<size_t>(size));
          REQUIRE(found == expected);
        }
      }
    }
  }
}
