// Dropout whose mask follows the node: whether an element is dropped is a pure function of the
// step, the node and the column. A layer drops the same elements in any process and for any order
// of rows. docs/semantics.md, section 11.
//
// Memory: the caller's. Threads and forks: any. Failure: kInvalidArgument for arguments that do not
// fit.
#pragma once

#include <cstdint>
#include <span>

namespace ramet {

// The inputs of a mask, beside nodes and columns.
struct DropoutKey {
  uint64_t seed = 0, epoch = 0, step = 0, hop = 0;
  uint64_t salt = 0;       // tells apart the masks of one hop
  uint64_t type_hash = 0;  // hash_name() of the node type's encoded name
};

// dropped[i * width + c] = whether column c of nodes[i] is dropped, with probability `p`, 0 <= p <=
// 1. Uses at most `threads` threads (0: all).
void dropout_mask(const DropoutKey& key,
                  std::span<const int64_t> nodes,
                  int64_t width,
                  double p,
                  std::span<bool> dropped,
                  int threads = 0);

}  // namespace ramet
