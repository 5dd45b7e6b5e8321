// CooperativeOptions: what ranks that cooperate say to a NeighborLoader, whose batches a
// CooperativeLoader makes.
#pragma once

#include <optional>
#include <vector>

#include "ramet/array.h"
#include "ramet/ownership.h"

namespace ramet {

struct CooperativeOptions {
  // Who owns which node. A rank reads the rows of its own nodes alone, and by kDegree or
  // kPresampling it caches no others.
  std::optional<Membership> membership = std::nullopt;
  // Of kPresampling, as ranks sample together: by node type, int64 [nodes], in how many of the
  // first batches each node is. Not kept.
  std::vector<Array> presampled = {};
};

}  // namespace ramet
