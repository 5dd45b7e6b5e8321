// What host batches have their rows from: a source for each table, and the decision on it.
#pragma once

#include <memory>
#include <vector>

#include "batch_rows.h"
#include "cached_nodes.h"
#include "ramet/loader.h"

namespace ramet {

// Both by LoaderOptions::tables.
struct HostSide {
  RowSources sources;  // nullptr where rows are pulled
  std::vector<PlacementDecision> placement;
};

// Decides, and fills caches that do not change. `seeds`: of the steps below `num_steps`.
[[nodiscard]] HostSide make_host_side(const std::shared_ptr<const Graph>& graph,
                                      const LoaderOptions& options,
                                      const SeedsOfStep& seeds,
                                      int64_t num_steps);

// The sources of `requests`, those of tables that are cached behind a cache of the rows used last:
// at most `cache_rows` each.
[[nodiscard]] RowSources with_caches(const Graph& graph,
                                     const std::vector<TableRequest>& requests,
                                     RowSources sources,
                                     int64_t cache_rows);

}  // namespace ramet
