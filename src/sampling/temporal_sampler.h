// Neighbors that a time allows, drawn evenly, or the latest, from rows in no order of times;
// docs/semantics.md, section 16. In sorted rows they are uniform_sampler.h's. Weighted draws, and
// those of dependent minibatches, are smallest_sampler.h's with and without times.
#pragma once

#include "base/draw_keys.h"
#include "edge_scan.h"
#include "relation_builder.h"

namespace ramet {

// For a task with times, by their Strategy. `keys`: those of the edge type and hop. At most
// `threads` work on it.
template <typename Id>
[[nodiscard]] Relation sample_in_time(const RelationTask<Id>& task,
                                      const DrawKeys& keys,
                                      bool replace,
                                      ScanScratch& scratch,
                                      BufferPool& pool,
                                      int threads);

}  // namespace ramet
