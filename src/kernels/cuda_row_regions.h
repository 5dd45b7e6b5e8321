// The order in which a device reads many rows of a large table, or topology, in host memory: by
// regions.
//
// A device maps host memory in pages of 4 KiB, and its table of recent addresses covers little of
// a large table. Where rows come at random, every one waits for a walk through the page tables: DGL
// measured 4.4 GB/s as ids come and 19.0 GB/s sorted (A100, 100 million rows of 47 floats;
// dmlc/dgl, issue 6635). It is enough to take rows that are near each other one after the other, so
// that they share the upper levels of a walk; inside of a region of 2 MiB the order does not
// matter.
//
// Plain C++, for kernels, for who plans a gather, and for tests without a GPU.
#pragma once

#include <cstdint>

namespace ramet {

inline constexpr int kRegionBits = 21;            // of 2 MiB
inline constexpr int64_t kMostRegions = 1 << 16;  // each a counter of 4 bytes
inline constexpr int64_t kSortedTableBytes = int64_t{1} << 30;
inline constexpr int64_t kLeastSortedIds = 1 << 14;
inline constexpr int64_t kMostSortedIds = (int64_t{1} << 31) - 1;

// Row r is in region (r * row_bytes) >> shift.
struct RowRegions {
  int shift;
  int64_t count;
};

constexpr RowRegions row_regions(int64_t num_rows, int64_t row_bytes) {
  const int64_t last = num_rows > 0 ? (num_rows - 1) * row_bytes : 0;
  RowRegions regions{kRegionBits, (last >> kRegionBits) + 1};
  while (regions.count > kMostRegions)
    regions = {regions.shift + 1, (last >> (regions.shift + 1)) + 1};
  return regions;
}

// Whether order saves more than making it costs: five launches of a gather, of 30 to 50
// microseconds together, and eight of a hop. Smaller tables do not gain (dmlc/dgl, issue 6590).
constexpr bool pays_to_sort(int64_t table_bytes, int64_t num_ids) {
  return table_bytes >= kSortedTableBytes && num_ids >= kLeastSortedIds &&
         num_ids <= kMostSortedIds;
}

}  // namespace ramet
