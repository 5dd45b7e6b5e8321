// NodeSeeds: the nodes that the items of a plan stand for. Item i is input node i. A value over the
// arrays of a loader's options; any thread may read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/array.h"

namespace ramet {

struct NodeSeeds {
  int node_type = 0;
  int64_t num_items = 0;
  Array ids = {};  // int32 or int64 [num_items]; without data item i is node i

  [[nodiscard]] std::vector<int64_t> nodes(std::span<const int64_t> items) const;
};

}  // namespace ramet
