// The edges of each destination of a relation, by offsets that may have been written to: a
// minibatch's arrays are handed out, to Python as tensors, which nothing can make read-only.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/error.h"
#include "ramet/sampler.h"

namespace ramet {

[[noreturn]] inline void bad_offset(const Relation& relation, size_t i, int64_t least) {
  const int64_t num_edges = relation.indices.rows();
  throw_invalid("indptr[", i, "] = ", relation.indptr.as<int64_t>()[i], " of edge type ",
                relation.edge_type, " in a block, expected ", least,
                least == num_edges ? "" : concat(" to ", num_edges),
                ": the block has been written to");
}

// Calls body(i, begin, end) for every destination: its edges are begin .. end. Each offset is read
// once, and compared before it is used: kInvalidArgument names the first that does not ascend from
// 0 to the number of edges.
template <typename Body>
void for_each_destination(const Relation& relation, Body&& body) {
  const auto indptr = relation.indptr.as<int64_t>();
  const int64_t num_edges = relation.indices.rows();
  if (indptr.empty()) return;
  int64_t begin = indptr[0];
  if (begin != 0) bad_offset(relation, 0, 0);
  for (size_t i = 1; i < indptr.size(); ++i) {
    const int64_t end = indptr[i];
    if (end < begin || end > num_edges) bad_offset(relation, i, begin);
    body(i - 1, begin, end);
    begin = end;
  }
  if (begin != num_edges) bad_offset(relation, indptr.size() - 1, num_edges);
}

}  // namespace ramet
