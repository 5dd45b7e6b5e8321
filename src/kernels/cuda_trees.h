// Disjoint trees and times, as the sampling kernels (cuda_sampling.h) have them; docs/semantics.md,
// sections 15 and 16.
#pragma once

#include <cstdint>

namespace ramet {

// Times from `first` to `last`, both included; none where first > last.
struct CudaSpan {
  int64_t first, last;
};

// When the edges of an edge type came to be, and which of them destinations may have.
struct CudaTimes {
  const int64_t* of_edges = nullptr;  // by position; nullptr: an edge has its source's time
  const int64_t* of_sources = nullptr;
  const CudaSpan* allowed = nullptr;  // by destination; nullptr: whatever their times
};

// Disjoint trees: lists of nodes hold keys, a tree and behind it the bits of an id.
struct CudaTrees {
  const int64_t* keys = nullptr;  // of the destinations; nullptr: lists hold ids
  int dst_bits = 0, src_bits = 0;
};

// The bits of an id in a key.
constexpr int64_t cuda_id_mask(int id_bits) {
  return static_cast<int64_t>((uint64_t{1} << id_bits) - 1);
}

// What the paths to a node leave: times from `first` on, and to the complement of `last`, both with
// their sign turned. So all of them are left where all bits are 0, and both grow.
struct CudaPath {
  unsigned long long first, last;
};

// Keys of nodes of trees, taken apart.
struct CudaSplitKeysArgs {
  const int64_t* keys;
  int64_t count;
  int id_bits;
  int64_t* ids;
  int64_t* trees = nullptr;         // or not
  const CudaSpan* spans = nullptr;  // by tree, for
  CudaSpan* allowed = nullptr;      // those of the keys
  const CudaPath* paths = nullptr;  // which these leave, where there are any
};

}  // namespace ramet
