// The k smallest of a number per in-edge, each drawn from the word of its edge; docs/semantics.md,
// sections 9 and 13. Two methods: weighted sampling, and uniform sampling of dependent minibatches,
// where edges that had small words a step before have small words again. Where the task has times,
// both draw from the edges that these allow; section 16.
#pragma once

#include "base/draw_keys.h"
#include "edge_scan.h"
#include "ramet/derived_arrays.h"
#include "ramet/sample_options.h"
#include "relation_builder.h"

namespace ramet {

// `hop_keys`: those of the edge type and hop. At most `threads` work on it.
template <typename Id>
[[nodiscard]] Relation sample_smallest_words(const RelationTask<Id>& task,
                                             const DrawKeys& hop_keys,
                                             ScanScratch& scratch,
                                             BufferPool& pool,
                                             int threads);

struct WeightedDraws {
  DrawKeys hop_keys;
  const Weighted& method;
  bool dependent;                  // minibatches depend on each other
  DerivedArrays::Slot* row_tries;  // of TriesOfRows, or nullptr: weights may change
};

// In proportion to the edge table of the method.
template <typename Id>
[[nodiscard]] Relation sample_weighted(const RelationTask<Id>& task,
                                       const WeightedDraws& draws,
                                       ScanScratch& scratch,
                                       BufferPool& pool,
                                       int threads);

}  // namespace ramet
