// The contents of a part of a graph: its own nodes and their in-edges. docs/format.md, section 7.
//
// Memory: results own theirs. Threads: results are the same for any number of them; 0: all cores.
// Failure: kCorrupt where the graph's offsets are invalid. Ids are copied unchecked: a part of a
// damaged graph has the same damage.
#pragma once

#include <cstdint>
#include <span>

#include "ramet/array.h"
#include "ramet/graph.h"
#include "ramet/ownership.h"

namespace ramet {

struct OwnedNodes {
  Array nodes;   // int64[rows]: their ids, ascending
  Array bitmap;  // uint64[lines, 8]: the same, as the array owned/<type> has it
};

[[nodiscard]] OwnedNodes owned_nodes(const Ownership& ownership, int64_t part, int threads = 0);

// The bitmap alone: NodeRows finds nodes in it.
struct OwnedBitmap {
  Array lines;        // uint64[lines, 8]
  int64_t count = 0;  // of nodes
};
[[nodiscard]] OwnedBitmap owned_bitmap(const Ownership& ownership, int64_t part, int threads = 0);

struct PartEdges {
  Array indptr;    // int64[rows + 1]
  Array indices;   // as in the graph
  Array edge_ids;  // of every edge; int32 or int64 as in the graph, or where positions fit
  Array
      position;  // int64: where the edges stand in the graph; without data where no table needs it
};

// The in-edges of `nodes`, ids of the destination type of a whole graph (else kOutOfRange).
[[nodiscard]] PartEdges in_edges(const EdgeType& edges,
                                 std::span<const int64_t> nodes,
                                 int threads = 0);

// Edges of a whole graph whose source has another owner than their destination. kCorrupt for an id
// out of range.
[[nodiscard]] int64_t count_cut(const EdgeType& edges,
                                const Ownership& sources,
                                const Ownership& destinations,
                                int threads = 0);

}  // namespace ramet
