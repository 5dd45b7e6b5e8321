// The memory bound of a minibatch: its addresses are recorded, then only its loads are repeated.
//
// A hop touches the bounds of its destinations' rows, the edges at its picks' positions, and one
// slot of a table per source for relabeling; here they are known in advance and prefetched, and
// what is loaded is added up. No sampler that looks at the same data can be faster, but for the
// share of its work that it spends outside the memory.
#pragma once

#include <cstdint>
#include <vector>

#include "memory.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"

namespace ramet::bench {

class Replay {
 public:
  // Records `batch`, sampled from `graph`, which has one node type and one edge type of fewer than
  // 2^31 nodes. Both are used by run().
  Replay(const Graph& graph, Minibatch batch);

  // Repeats the loads. `slots` has one entry per node.
  [[nodiscard]] uint64_t run(const uint32_t* slots) const;
  [[nodiscard]] int64_t num_edges() const { return num_edges_; }

 private:
  const EdgeType& edges_;
  Minibatch batch_;
  std::vector<std::vector<int32_t>> sources_;  // by block: node ids, one per edge
  int64_t num_edges_ = 0;
};

}  // namespace ramet::bench
