// The fingerprint of sampled edges: a 128-bit digest of the set of (hop, edge type, destination,
// edge id) in one minibatch or in the union of several. It compares runs on different numbers of
// threads, processes and ranks. docs/semantics.md, section 7. Not cryptographic.
#pragma once

#include <span>
#include <string>

#include "ramet/graph.h"
#include "ramet/sampler.h"

namespace ramet {

// A minibatch and the graph it was sampled from (the ranks may each have opened their own).
struct SampledFrom {
  const Graph* graph;
  const Minibatch* minibatch;
};

// 32 hexadecimal digits. Copies device minibatches to the host. Throws kInvalidArgument if the
// minibatches differ in their hops.
[[nodiscard]] std::string fingerprint(std::span<const SampledFrom> minibatches);

}  // namespace ramet
