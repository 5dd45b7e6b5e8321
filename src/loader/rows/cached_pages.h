// Which in-edges of a topology in host memory a device has a copy of.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/graph.h"

namespace ramet {

// Of each edge type the pages of CudaGraph::kPage in-edges, ascending, that are read most often, of
// at most `bytes` with what finds them (4 bytes for each page of the type). A node's in-edges are
// read as often as it is a source, which 2^27 edges tell; which of them, is random.
[[nodiscard]] std::vector<std::vector<int64_t>> hottest_pages(const Graph& graph, int64_t bytes);

}  // namespace ramet
