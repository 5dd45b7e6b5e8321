// Uniform sampling of one edge type of one hop; docs/semantics.md, sections 3 and 4. Where rows are
// sorted by time, also of the edges that times allow, or the latest of these (section 16).
#pragma once

#include <cstdint>
#include <vector>

#include "base/draw_keys.h"
#include "excluded_edges.h"
#include "relation_builder.h"
#include "rows.h"

namespace ramet {

struct UniformDraws {
  DrawKeys hop_keys;
  bool replace;
};

// A destination that picks numbers in its row without the excluded edges.
struct ShortenedRow {
  int64_t destination;
  RemainingNumbers numbers;
};

// Kept from batch to batch, so that a steady run touches no fresh memory; grows, never shrinks.
template <typename Id>
struct UniformScratch {
  std::vector<Row> rows;    // by destination
  std::vector<Id> sources;  // by pick
  std::vector<ShortenedRow> shortened;
};

// At most `threads` work on it. Id: int32_t or int64_t, wide enough for every node.
template <typename Id>
[[nodiscard]] Relation sample_uniform(const RelationTask<Id>& task,
                                      const UniformDraws& draws,
                                      UniformScratch<Id>& scratch,
                                      BufferPool& pool,
                                      int threads);

}  // namespace ramet
