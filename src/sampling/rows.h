// The rows of destinations: where their in-edges stand in the CSC.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ramet/graph.h"
#include "request.h"

namespace ramet {

// A destination's in-edges: positions begin to begin + degree of the CSC.
struct Row {
  int64_t begin, degree;
};

// An entry of a store's file that cannot be: kCorrupt with place, position and value.
[[noreturn]] void refuse_entry(const std::string& place,
                               int64_t position,
                               int64_t value,
                               const std::string& bound);

// Throws what bounds that do not fit throw.
[[noreturn]] void refuse_row(const EdgeType& edges, int64_t node, Row bounds);

// Reads one row's bounds; whatever the file holds, the result lies inside the edges.
inline Row read_row(const EdgeType& edges, const int64_t* indptr, int64_t node) {
  const int64_t begin = indptr[node], end = indptr[node + 1];
  const bool fits = static_cast<uint64_t>(end) <= static_cast<uint64_t>(edges.num_edges()) &&
                    static_cast<uint64_t>(begin) <= static_cast<uint64_t>(end);
  if (!fits) refuse_row(edges, node, {begin, end - begin});
  return {begin, end - begin};
}

// Calls body(i, row) with the row of nodes[i] for begin <= i < end, whose bounds are requested some
// iterations ahead.
template <typename Id, typename Body>
void for_each_row(
    const EdgeType& edges, std::span<const Id> nodes, int64_t begin, int64_t end, Body&& body) {
  constexpr int64_t kAhead = 128;
  const int64_t* indptr = edges.indptr.as<int64_t>().data();
  const Id* node = nodes.data();
  for (int64_t i = begin; i < end; ++i) {
    if (i + kAhead < end) request(&indptr[node[i + kAhead]]);
    body(i, read_row(edges, indptr, node[i]));
  }
}

}  // namespace ramet
