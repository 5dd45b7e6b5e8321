// Which in-edges of a topology in place have copies in device memory.
#pragma once

#include <cstdint>

#include "ramet/cuda_sampler.h"
#include "ramet/graph.h"

namespace ramet {

// The groups that are read most often. They take at most `bytes`, with 4 bytes for each group that
// there is. A node's in-edges count as read as often as it is a source, and once more. Of larger
// graphs about 2^27 edges tell how often that is.
[[nodiscard]] CudaGraph::EdgeGroups hottest_edges(const Graph& graph, int64_t bytes);

}  // namespace ramet
