// CacheBy: which rows a loader's cache holds.
#pragma once

#include <cstdint>

namespace ramet {

// The rows of the nodes with most out-edges; of those that most of a few sampled batches need. For
// host batches alone: the rows that were used last; those whose next use is nearest
// (look_ahead_cache.h). kAuto: kDegree with a device, else kLookAhead in front of a disk and of
// rows that are pulled, else kRecency.
enum class CacheBy : uint8_t { kAuto, kDegree, kPresampling, kRecency, kLookAhead };

}  // namespace ramet
