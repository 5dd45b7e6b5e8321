// EdgeFinder: the edges between two nodes, as positions in the CSC. Sorted rows are bisected;
// others are read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ramet/graph.h"
#include "ramet/negatives.h"
#include "ramet/node_rows.h"
#include "sampling/rows.h"

namespace ramet {

class EdgeFinder {
 public:
  // rows: of the destinations. Reads every edge once. Both must outlive it.
  EdgeFinder(const EdgeType& edges, const NodeRows& rows)
      : edges_(&edges), rows_(&rows), sorted_(rows_are_sorted(edges)) {}

  // Calls body(position) for every edge from `source` to `destination`, in the order of positions.
  // The caller ensures that these are nodes of the types. In a part of a graph there are only edges
  // to its own nodes.
  template <typename Body>
  void for_each(int64_t source, int64_t destination, Body&& body) const {
    const int64_t place = rows_->row(destination);
    if (place < 0) return;
    const Row row = read_row(*edges_, edges_->indptr.as<int64_t>().data(), place);
    with_ids(edges_->indices, [&](auto ids) {
      const auto* const begin = ids.data() + row.begin;
      const auto* const end = begin + row.degree;
      const auto* found = sorted_ ? std::lower_bound(begin, end, source) : begin;
      for (; found != end; ++found) {
        if (*found == source)
          body(found - ids.data());
        else if (sorted_)
          return;
      }
    });
  }

 private:
  const EdgeType* edges_;
  const NodeRows* rows_;
  bool sorted_;
};

}  // namespace ramet
