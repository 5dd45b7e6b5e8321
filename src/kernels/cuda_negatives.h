// Negatives of the CUDA seam (cuda_backend.h): those of draw_negatives() (negatives.h), to the bit,
// or kUndecided. Arrays are in device memory. A draw is undecided
// - if all tries by weights, or of more than kFewCandidates candidates, are rejected;
// - if no candidate is left, or there is none;
// - if something does not fit: a node, a row, an entry;
// - if it is the destination for a source that is undecided.
#pragma once

#include <cstdint>

#include "kernels/cuda_csc.h"

namespace ramet {

inline constexpr int64_t kUndecided = -2;
inline constexpr int64_t kFewCandidates = 1024;  // which a thread looks at one after the other

struct CudaPairRows {
  CudaEdgeRows rows;
  bool by_source;
};

// What may take the place of an end: Candidates (negatives.h). nullptr: there is none of it.
struct CudaCandidates {
  int64_t num_nodes;
  const double* weight_sums;
  const int64_t* created;
  const int64_t* among;
  int64_t num_among;
  const CudaPairRows* past;
};

struct CudaNegativesArgs {
  const int64_t *sources, *destinations, *ids, *times;  // times: or nullptr
  int64_t num_pairs, amount;
  int64_t draws_each;  // 2: draw 2i replaces the source of a negative, draw 2i + 1 its destination
  bool at_source[2];   // whether even draws replace the source, and odd ones
  bool loops;
  uint64_t key;  // of the seed and the epoch
  const CudaPairRows* edges;
  int64_t num_edges;  // edge types
  CudaCandidates of_destinations, of_sources;
  int64_t* out;  // [num_pairs, amount]
};

}  // namespace ramet
