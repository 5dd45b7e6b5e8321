// Which rows of a node type are read most: what a cache in device memory should hold.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/graph.h"
#include "ramet/loader.h"

namespace ramet {

// At most `count` node ids of `type`, ascending: of those that have most out-edges, that is, that
// are the sources of most edges; where these are equal, the lower ids. Reads every edge once.
[[nodiscard]] std::vector<int64_t> rows_by_degree(const Graph& graph, int type, int64_t count);

// The same by how many of the epoch's first `steps` batches a node is in: `loader` samples them, on
// the CPU. Of equal counts, those with more out-edges.
[[nodiscard]] std::vector<int64_t> rows_by_presampling(const NeighborLoader& loader,
                                                       int type,
                                                       int64_t count,
                                                       int64_t steps);

}  // namespace ramet
