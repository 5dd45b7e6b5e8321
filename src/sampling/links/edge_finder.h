// EdgeFinder: the edges between pairs of nodes, as positions in the CSC. Sorted rows are searched
// side by side; others are read.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/sorted_search.h"
#include "ramet/graph.h"
#include "ramet/node_rows.h"

namespace ramet {

// For each i, the search for wanted[i] in row rows[i], to be done. The caller ensures that these
// are rows.
[[nodiscard]] std::vector<SortedSearch> searches_of_rows(const EdgeType& edges,
                                                         std::span<const int64_t> rows,
                                                         std::span<const int64_t> wanted);

class EdgeFinder {
 public:
  // Reads every edge of the type once. The graph must outlive it.
  EdgeFinder(const Graph& graph, int edge_type);

  // Appends the positions of all edges from sources[i] to destinations[i], for each i. The caller
  // ensures that these are nodes of the types. In a part of a graph there are only edges to its own
  // nodes.
  void find(std::span<const int64_t> sources,
            std::span<const int64_t> destinations,
            std::vector<int64_t>& positions) const;

 private:
  const EdgeType& edges_;
  const NodeRows& rows_;  // of the destinations
  int64_t num_sources_;
  bool sorted_;
};

}  // namespace ramet
