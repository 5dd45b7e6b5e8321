// Rows that processors gather or read: a source for each table, caches, and the decision on it. Of
// host batches all, of a device's batches those of a disk, whose rows are copied to the device.
#pragma once

#include <memory>
#include <vector>

#include "loader/rows/batch_rows.h"
#include "loader/rows/cached_nodes.h"
#include "loader/rows/table_caches.h"
#include "ramet/loader.h"

namespace ramet {

// By LoaderOptions::tables. nullptr and no decision: the table is not read by processors.
struct HostSide {
  RowSources sources;
  std::shared_ptr<const TableCaches> caches;
  bool reads_ahead = false;  // whether a source does, or hints are wanted
  std::vector<PlacementDecision> placement;
};

// By table; empty: all kAuto.
[[nodiscard]] const std::vector<Location>& wanted_locations(const LoaderOptions& options);
// Whether processors have the rows of a table.
[[nodiscard]] bool is_on_host_side(const LoaderOptions& options, size_t table);

// Decides, opens files, and fills caches that do not change. `seeds`: of the steps below
// `num_steps`.
[[nodiscard]] HostSide make_host_side(const std::shared_ptr<const Graph>& graph,
                                      const LoaderOptions& options,
                                      const SeedsOfStep& seeds,
                                      int64_t num_steps);

}  // namespace ramet
