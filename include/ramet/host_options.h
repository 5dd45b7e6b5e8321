// HostOptions: the sources of rows of host batches.
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
  std::vector<Location> tables = {};
  // Rows kept in memory, decoded, per table that is read at all nodes: the graph's tables, provided
  // tables on a disk, and pulled rows. With kRecency and kLookAhead, and for pulled rows, one
  // stream at a time has the cache; others read without it.
  int64_t cache_rows = 0;
  CacheBy cache_by = CacheBy::kAuto;
  int look_ahead = 16;  // of kLookAhead: batches that are sampled before the rows of one are chosen
};

}  // namespace ramet
