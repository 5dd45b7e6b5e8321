// Which rows of a node table a cache holds that does not change.
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

inline constexpr int64_t kPresampledSteps = 20;

// How many rows, and which: kDegree or kPresampling.
struct CachedNodes {
  int64_t count = 0;
  CacheBy by = CacheBy::kDegree;
};

// The node ids of `type` that a cache of such a loader holds, ascending. Presamples the first
// kPresampledSteps of its `num_steps`.
[[nodiscard]] std::vector<int64_t> nodes_to_cache(const std::shared_ptr<const Graph>& graph,
                                                  const LoaderOptions& options,
                                                  const SeedsOfStep& seeds,
                                                  int64_t num_steps,
                                                  int type,
                                                  CachedNodes wanted);

// How often each of the `num_rows` rows of a node table may be used: as its node is the source of
// edges. Of larger graphs some of the edges, about 2^27, are counted.
[[nodiscard]] std::vector<int64_t> uses_by_row(const Graph& graph,
                                               const TableRequest& request,
                                               int64_t num_rows);

// Whether the table is read at all nodes of a type, and so worth a cache.
[[nodiscard]] inline bool is_of_nodes(const TableRequest& request) {
  return !request.at_seeds && !request.is_of_edges();
}

}  // namespace ramet
