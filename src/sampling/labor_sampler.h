// LABOR sampling of one edge type of one hop; docs/semantics.md, section 8.
#pragma once

#include "base/draw_keys.h"
#include "edge_scan.h"
#include "importance.h"
#include "relation_builder.h"

namespace ramet {

// What decides about the edges of a relation, and what they weigh.
struct LaborDraws {
  DrawKeys source_keys;
  const RelationImportance* importance;  // of this relation, or nullptr for LABOR-0
  const Labor& method;

  // False where every weight is 1 / picks of the destination, which blocks do not store.
  [[nodiscard]] bool stores_weights() const {
    return importance != nullptr || method.weights == Weights::kHorvitzThompson ||
           !method.table.empty();
  }
};

// At most `threads` work on it.
template <typename Id>
[[nodiscard]] Relation sample_labor(const RelationTask<Id>& task,
                                    const LaborDraws& draws,
                                    ScanScratch& scratch,
                                    BufferPool& pool,
                                    int threads);

}  // namespace ramet
