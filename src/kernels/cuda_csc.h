// The CSC of an edge type as sampling kernels read it.
#pragma once

#include <cstdint>

namespace ramet {

// In-edges come in groups of so many, of which the device may have a copy while others are on the
// host: 4 lines of memory of int32.
inline constexpr int64_t kEdgeGroup = 128;

struct CudaCachedEdges {
  // Of each group its number in `indices`, or -1. nullptr: there is no cache.
  const int32_t* slots = nullptr;
  const void* indices = nullptr;
};

// One edge type's CSC.
struct CudaCsc {
  const int64_t* indptr;
  const void* indices;
  bool wide_ids;  // int64, else int32
  int64_t num_edges;
  int64_t num_src_nodes;
  CudaCachedEdges cached = {};
};

// Positions of in-edges that no hop draws, ascending.
struct CudaExcluded {
  const int64_t* positions = nullptr;
  int64_t count = 0;
};

// The rows of an edge type that is in device memory, with tables by position: the sum of a row's
// weights up to each edge, and times. nullptr: there are none.
struct CudaEdgeRows {
  CudaCsc edges;
  int64_t num_rows;
  const double* sums = nullptr;
  const int64_t* times = nullptr;
};

}  // namespace ramet
