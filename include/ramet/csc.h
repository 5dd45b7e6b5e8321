// Builds a CSC from an edge list by a stable sort. Within a row, edges keep the given order, so the
// result does not depend on threads.
//
// Memory at the peak, for E edges (counted in both directions if undirected) and N destinations:
// the arrays given, a copy of the edges, and the result. With int32 ids and fewer than 2^31 edges
// the copy takes 8 E bytes (12 E with edge ids), the result 4 E + 8 N (8 E + 8 N). Undirected adds,
// per thread, a copy of the largest bucket: a 4096th of the edges, or a hub's.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/array.h"

namespace ramet {

struct CscOptions {
  // Adds the reverse of every edge that is no self loop, then keeps, of several edges with the same
  // (source, destination), the one with the lowest id. Edge i has id i, its reverse E + i. Rows are
  // then sorted by source. Needs num_src == num_dst.
  bool undirected = false;
  // Keep edge ids. They are dropped if the id of every edge is its position.
  bool edge_ids = true;
  int threads = 0;  // 0: all cores
};

// Owns its memory. indices and edge_ids are int32 where the values fit, else int64.
struct Csc {
  Array indptr;    // int64[num_dst + 1]
  Array indices;   // [num_edges]
  Array edge_ids;  // [num_edges], or without data: the id is the position
};

// src and dst: int32 or int64, one entry per edge. Throws kOutOfRange naming the first edge with
// an id outside [0, num_src) or [0, num_dst); kInvalidArgument for wrong dtypes or lengths,
// negative numbers of nodes or threads, more than 2^44 destinations, or undirected with num_src !=
// num_dst.
[[nodiscard]] Csc build_csc(const Array& src,
                            const Array& dst,
                            int64_t num_src,
                            int64_t num_dst,
                            const CscOptions& options = {});

// The same; releases the arrays after copying them. Without other owners, their memory is free
// before the result is allocated.
[[nodiscard]] Csc build_csc(
    Array&& src, Array&& dst, int64_t num_src, int64_t num_dst, const CscOptions& options = {});

// Sorts each row by `keys`, int64, one per edge; equal keys stay in their order. Entry p of the
// result is the old position of the edge at position p: int32 if positions fit, else int64.
// kInvalidArgument: arrays that do not fit each other; threads as above.
[[nodiscard]] Array sorted_rows(const Array& indptr, const Array& keys, int threads = 0);

// A CSC from a user's arrays: fully checked, ids narrowed if they fit.
[[nodiscard]] Csc check_csc(const Array& indptr,
                            const Array& indices,
                            int64_t num_src,
                            int64_t num_dst);

}  // namespace ramet
