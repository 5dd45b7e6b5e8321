// A cheap digest of arrays, to distinguish graphs, splits and weights. Not cryptographic.
#pragma once

#include <cstdint>

#include "ramet/array.h"

namespace ramet {

// Absorbs the length and at most 1,024 evenly spaced entries of an int32 or int64 array into `key`.
// Equal ids of either width give equal digests.
[[nodiscard]] uint64_t digest_ids(uint64_t key, const Array& ids);
// The same of a float32 or float64 array.
[[nodiscard]] uint64_t digest_weights(uint64_t key, const Array& weights);

}  // namespace ramet
