// One edge type of one hop: from destinations to a Relation. docs/semantics.md, sections 3 and 4.
#pragma once

#include <cstdint>
#include <vector>

#include "node_index.h"
#include "pick.h"
#include "ramet/buffer_pool.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "row_picker.h"

namespace ramet {

template <typename Id>
struct RelationTask {
  const EdgeType& edges;
  int64_t num_src_nodes;  // of the source type, in the graph
  uint64_t hop_key;
  PickRule rule;
  int64_t num_dst;  // the destinations are the first nodes of
  NodeIndex<Id>& destinations;
  NodeIndex<Id>& sources;  // new ones are appended; may be the same as the destinations
};

// Kept from batch to batch, so that a steady run touches no fresh memory; grows, never shrinks.
template <typename Id>
struct RelationScratch {
  std::vector<Row> rows;    // by destination
  std::vector<Id> sources;  // by pick
};

// At most `threads` work on it. Id: int32_t or int64_t, wide enough for every node.
template <typename Id>
[[nodiscard]] Relation sample_relation(const RelationTask<Id>& task,
                                       RelationScratch<Id>& scratch,
                                       BufferPool& pool,
                                       int threads);

}  // namespace ramet
