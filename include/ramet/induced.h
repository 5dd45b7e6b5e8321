// Induced subgraphs: all edges of one type whose source and destination are among given nodes,
// group by group. docs/semantics.md, section 17.
//
// Borrows the nodes during the call. The result owns its arrays (pooled buffers). Call it from any
// thread. Failure: offsets that do not fit are kInvalidArgument, destinations that are no nodes
// and excluded edges that are none kOutOfRange, a store whose rows do not fit kCorrupt.
#pragma once

#include <cstdint>
#include <span>

#include "ramet/array.h"
#include "ramet/graph.h"

namespace ramet {

// Nodes in groups: those of group g are ids[offsets[g] .. offsets[g + 1]).
struct NodeGroups {
  std::span<const int64_t> ids;
  std::span<const int64_t> offsets;
};

// Within a group; then by the other end, then by position.
enum class EdgeOrder : uint8_t { kByDestination, kBySource };

struct InducedEdges {
  Array edge_index;  // int64[2, num_edges]: sources above destinations, positions in `ids`
  Array position;    // int64[num_edges], positions in the edge type's CSC
};

// The edges from a node of sources' group g to one of destinations' group g, for every g. A source
// that its group has twice is its first occurrence; a destination has its edges at each occurrence.
// `threads`: the most that work on this call, 0: all. `excluded`: positions of edges that are left
// out, ascending, each once.
[[nodiscard]] InducedEdges induced_edges(const Graph& graph,
                                         int edge_type,
                                         const NodeGroups& sources,
                                         const NodeGroups& destinations,
                                         EdgeOrder order,
                                         int threads = 1,
                                         std::span<const int64_t> excluded = {});

}  // namespace ramet
