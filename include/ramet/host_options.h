// HostOptions: where host batches have their rows from.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/cache_by.h"
#include "ramet/placement.h"

namespace ramet {

inline constexpr int kMaxLookAhead = 65536;
inline constexpr int64_t kMaxCachedRows = (int64_t{1} << 31) - 1;

struct HostOptions {
  // One per LoaderOptions::tables, kAuto, kInPlace or kDisk; empty: all kAuto.
  std::vector<Placement> tables = {};
  // Kept in memory as they are handed out, of each table that is read at all nodes: of the graph's
  // tables, of provided ones that are read from a disk, and of rows that are pulled. With kRecency
  // and kLookAhead, and where rows are pulled, one stream at a time has them; others read without.
  int64_t cache_rows = 0;
  CacheBy cache_by = CacheBy::kAuto;
  int look_ahead = 16;  // of kLookAhead: batches that are sampled before the rows of one are chosen
};

}  // namespace ramet
