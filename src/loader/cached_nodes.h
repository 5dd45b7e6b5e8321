// Which rows of a node table the cache of a device holds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "node_seeds.h"
#include "ramet/loader.h"

namespace ramet {

// The seeds of a step of the first epoch.
using SeedsOfStep = std::function<SeedList(int64_t step)>;

// At most `count` node ids of `type`, ascending: of those that are the sources of most edges; of
// equal ones, the lower ids. Reads every edge once.
[[nodiscard]] std::vector<int64_t> nodes_by_degree(const Graph& graph, int type, int64_t count);

// The same by how many of the first `num_steps` batches a node is in, which are sampled on the CPU.
// Of equal counts, those with more out-edges.
[[nodiscard]] std::vector<int64_t> nodes_by_presampling(std::shared_ptr<const Graph> graph,
                                                        const LoaderOptions& options,
                                                        const SeedsOfStep& seeds,
                                                        int64_t num_steps,
                                                        int type,
                                                        int64_t count);

}  // namespace ramet
