// NodeSeeds: the nodes that the items of a plan stand for, and their times. Item i is input node i.
// A value over the arrays of a loader's options; any thread may read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/sampler.h"

namespace ramet {

// Seeds that own their ids.
struct SeedList {
  int type = 0;
  std::vector<int64_t> ids = {}, times = {};

  [[nodiscard]] Seeds view() const { return {.type = type, .ids = ids, .times = times}; }
};

struct NodeSeeds {
  int node_type = 0;
  int64_t num_items = 0;
  Array ids = {};    // int32 or int64 [num_items]; without data item i is node i
  Array times = {};  // int64 [num_items]; without data none of their own

  [[nodiscard]] SeedList of(std::span<const int64_t> items) const;
};

}  // namespace ramet
