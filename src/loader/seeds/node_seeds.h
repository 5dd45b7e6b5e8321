// NodeSeeds: the nodes that the items of a plan stand for, and their times. Items are the input
// nodes of all types, one type after another.
// A value over the arrays of a loader's options; any thread may read it.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/graph.h"
#include "ramet/loader.h"
#include "seed_source.h"

namespace ramet {

class NodeSeeds final : public SeedSource {
 public:
  // check() has accepted the inputs.
  NodeSeeds(const std::vector<InputNodes>& inputs, const Graph& graph);

  [[nodiscard]] int64_t num_items() const override { return num_items_; }
  [[nodiscard]] SeedList take(Batch& batch, const DrawNegatives& draw) const override;

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
