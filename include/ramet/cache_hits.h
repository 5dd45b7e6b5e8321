// cache_hits: counts the hits of a cache in front of a table, and the reads of missed rows, only
// from row ids.
//
// The rules are those of the caches themselves. Nothing is read, and nothing is kept. Threads: any.
// Failure: Error kInvalidArgument and kOutOfRange, naming the value and the bound.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/row_reader.h"

namespace ramet {

// The policy of a cache.
enum class CacheRule : uint8_t {
  kRecency,    // those that were used last
  kHeld,       // those with the highest counts, from their first use on
  kLookAhead,  // those whose next use is nearest; of others, those with the highest counts
};

struct CacheHitsOptions {
  CacheRule rule = CacheRule::kLookAhead;
  int64_t capacity = 0;      // rows
  int window = 0;            // of kLookAhead: how many batches after the current one are known
  Array counts = {};         // int64 [num_rows]; of kLookAhead: or none
  Array second_counts = {};  // of kHeld: int64 [num_rows], for equal counts; or none
  // A reader of the table; plans to read missed rows, from batch `first_planned` on. nullptr: no
  // plans.
  const RowReader* reader = nullptr;
  int64_t first_planned = 0;
};

// One batch: the rows in the cache, and the reads of the others.
struct CacheHits {
  int64_t rows = 0;
  ReadCounts read = {};
};

// The counts of each batch, in order. `epochs`: the row ids of batches, int32 or int64 [n],
// distinct in a batch. The cache continues from epoch to epoch, but does not look ahead beyond one.
[[nodiscard]] std::vector<CacheHits> cache_hits(std::span<const std::vector<Array>> epochs,
                                                int64_t num_rows,
                                                const CacheHitsOptions& options);

}  // namespace ramet
