// What host batches have their rows from: a source for each table, caches, and the decision on it.
#pragma once

#include <memory>
#include <vector>

#include "loader/rows/batch_rows.h"
#include "loader/rows/cached_nodes.h"
#include "loader/rows/table_caches.h"
#include "ramet/loader.h"

namespace ramet {

// By LoaderOptions::tables.
struct HostSide {
  RowSources sources;
  std::shared_ptr<const TableCaches> caches = nullptr;
  bool reads_ahead = false;  // whether a source does, or hints are wanted
  std::vector<PlacementDecision> placement;
};

// Decides, opens files, and fills caches that do not change. `seeds`: of the steps below
// `num_steps`.
[[nodiscard]] HostSide make_host_side(const std::shared_ptr<const Graph>& graph,
                                      const LoaderOptions& options,
                                      const SeedsOfStep& seeds,
                                      int64_t num_steps);

}  // namespace ramet
