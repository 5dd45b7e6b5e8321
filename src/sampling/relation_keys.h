// RelationKeys: which random words the edges of a relation are drawn from, on the CPU and on a
// device; docs/semantics.md, sections 2 and 8.
#pragma once

#include <cstdint>
#include <vector>

#include "base/draw_keys.h"
#include "ramet/graph.h"
#include "ramet/sample_options.h"

namespace ramet {

class RelationKeys {
 public:
  RelationKeys(const Graph& graph, const Method& method);

  // Of one edge type in one hop. Words belong to destinations, and to the edge type; with LABOR to
  // sources, and to their node type.
  [[nodiscard]] DrawKeys of(const DrawKeys& step_keys, size_t edge_type, int hop) const {
    return hop_keys(step_keys, static_cast<uint64_t>(layer_dependent_ ? 0 : hop), hash_[edge_type]);
  }

 private:
  bool layer_dependent_ = false;
  std::vector<uint64_t> hash_;  // by edge type: of the name of the type that the words belong to
};

}  // namespace ramet
