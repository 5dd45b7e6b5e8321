// Which in-edges of a topology in place have copies in device memory.
#pragma once

#include <cstdint>

#include "ramet/cuda_sampler.h"
#include "ramet/graph.h"

namespace ramet {

// The groups that are read most often, of at most `bytes` with the 4 bytes that each group of an
// edge type takes to be found. A node's in-edges are taken to be read as often as it is a source,
// which about 2^27 edges tell, some of them at a time.
[[nodiscard]] CudaGraph::EdgeGroups hottest_edges(const Graph& graph, int64_t bytes);

}  // namespace ramet
