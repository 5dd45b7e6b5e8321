// The nodes of a batch in device memory, and where each stands among them.
#pragma once

#include <cstdint>

namespace ramet {

// A slot for every node of the graph; or for each of 2^n keys, where nodes have keys: a key is at
// the first free position from its hash on. All bytes of what is free are 0xff.
struct CudaNodeTable {
  uint32_t* slots;
  uint64_t* keys = nullptr;
  uint64_t mask = 0;  // 2^n - 1
};

// The nodes of one type in a batch. A slot holds all ones, the node's position in the list, or 2^31
// plus the first pick that wants it: the least one counts.
struct CudaNodeList {
  CudaNodeTable table;
  int64_t* nodes;
  int64_t capacity;  // at most 2^31 - 1; nodes beyond are counted, but left out
  int64_t* size;
};

}  // namespace ramet
