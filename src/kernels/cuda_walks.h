// Walks of the CUDA seam (cuda_backend.h): those of random_walks() (walks.h), to the bit. Arrays
// are in device memory.
#pragma once

#include <cstdint>

#include "kernels/cuda_csc.h"
#include "kernels/walk_rules.h"

namespace ramet {

// What a step of one edge type reads.
struct CudaWalkEdges {
  CudaEdgeRows rows;
  const void* edge_ids;  // nullptr: a position is its own id
  bool wide_edge_ids;    // int64, else int32
};

struct CudaWalkArgs {
  const CudaWalkEdges* path;
  int64_t path_size;
  const int64_t *starts, *numbers;  // number: how many starts before it are the same node
  int64_t count, length;
  uint64_t seed;
  WalkRules rules;
  int64_t* nodes;     // [count, length + 1]
  int64_t* edge_ids;  // [count, length], or nullptr
  uint64_t* bad;      // the number of a walk from no node, or along an edge that no graph has
};

}  // namespace ramet
