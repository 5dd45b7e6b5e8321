// What a fanout means for a row of edges: docs/semantics.md, sections 3 and 8. CUDA's kernels read
// this file, too.
#pragma once

#include <cstdint>

#include "ramet/random.h"

namespace ramet {

// Whether all of `degree` edges are picked, where none is picked twice. Negative: no limit.
constexpr bool takes_all(int64_t fanout, int64_t degree) {
  return fanout < 0 || fanout >= degree;
}

// The largest word that a fraction k / d < 1 of all words does not exceed.
constexpr uint64_t threshold_of(int64_t k, int64_t d) {
  return static_cast<uint64_t>((static_cast<uint128_t>(k) << 64) / static_cast<uint128_t>(d));
}

}  // namespace ramet
