// What kernels do of the exchange of ids, where ranks cooperate: route() puts nodes in the order of
// their owners; load_asked() takes nodes that ranks ask for in the place of picks, before number().
#pragma once

#include <cstdint>

#include "kernels/cuda_node_list.h"

namespace ramet {

// Which of `parts` ranks owns each node of a type, as Ownership (ramet/ownership.h) has it.
struct CudaOwners {
  int64_t parts;
  const void* vector = nullptr;  // uint8, or uint16 where it is wide; else
  bool wide_vector = false;
  bool is_hash = false;  // by this key; else by ranges, of which parts 1, 2, ... begin here
  uint64_t key = 0;
  const int64_t* begins = nullptr;
  int64_t num_begins = 0;  // 2^n - 1
};

inline constexpr int64_t kCudaRouted = 256;  // nodes of a block, one for a thread

// How many counts there are, of the owners of the nodes of each block.
constexpr int64_t cuda_route_counts(int64_t num_nodes, int64_t parts) {
  return (num_nodes + kCudaRouted - 1) / kCudaRouted * parts;
}

struct CudaRouteArgs {
  CudaOwners owners;
  const int64_t* nodes;  // ids; keys of disjoint trees, which end with so many bits of an id
  int id_bits;           // 63: they are ids
  int64_t num_nodes;     // above 0
  uint16_t* owner;       // scratch, as what follows
  uint8_t* before;       // nodes of the same owner before each, in its block
  uint32_t* counts;      // cuda_route_counts()
  int32_t* positions;    // by node: where it stands in
  void* sorted;          // int32, or int64 if wide: those of rank 0, of rank 1, ..., each in order
  bool wide_sorted;
  int64_t* ends;  // by rank: where its nodes end there
  uint64_t* bad;  // the number of a node whose entry in a vector names no part
};

// Nodes [first, first + count) of those that are asked for.
struct CudaLoadAskedArgs {
  const void* nodes;  // int32, or int64 if wide
  bool wide;
  int64_t first, count;
  int64_t begin, end;  // where all ids lie that may be asked for
  int id_bits;
  int64_t num_trees;
  int64_t* sources;  // by node; -1 where it may not be asked for
  CudaNodeTable table;
  uint64_t* bad;  // the number of a node
};

}  // namespace ramet
