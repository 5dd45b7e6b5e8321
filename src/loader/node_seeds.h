// NodeSeeds: the nodes that the items of a plan stand for, and their times. Items are the input
// nodes of all types, one type after another.
// A value over the arrays of a loader's options; any thread may read it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/graph.h"
#include "ramet/loader.h"
#include "ramet/sampler.h"

namespace ramet {

// Seeds that own their ids.
struct SeedList {
  struct OfType {
    int type = 0;
    std::vector<int64_t> ids = {}, times = {};
  };
  std::vector<OfType> types;

  // Valid as long as the list.
  [[nodiscard]] std::vector<Seeds> view() const;
};

class NodeSeeds {
 public:
  // check() has accepted the inputs.
  NodeSeeds(const std::vector<InputNodes>& inputs, const Graph& graph);

  [[nodiscard]] int64_t num_items() const { return num_items_; }
  [[nodiscard]] SeedList of(std::span<const int64_t> items) const;
  // The same. Leaves in `items`, seed by seed, the positions among the input nodes of the type.
  [[nodiscard]] SeedList take(std::span<int64_t> items) const;

 private:
  struct Input {
    InputNodes nodes;
    int64_t first_item, num_items;
  };
  std::vector<Input> inputs_;
  int64_t num_items_ = 0;
};

// How many items the inputs of a type have.
[[nodiscard]] int64_t num_items(const InputNodes& nodes, const Graph& graph);

}  // namespace ramet
