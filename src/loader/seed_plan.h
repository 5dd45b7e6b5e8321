// SeedPlan: which items of an epoch form which batch, and which of them this rank has. Items are
// numbers from 0 on, whatever they stand for. docs/semantics.md, section 6, defines their order.
//
// Arithmetic alone: no thread, and no array of the epoch. Values; any thread may read them.
// Failure: a bad option is kInvalidArgument, a step beyond the epoch kOutOfRange.
#pragma once

#include <cstdint>
#include <vector>

#include "ramet/array.h"

namespace ramet {

struct SeedPlanOptions {
  int64_t num_items = 0;
  int64_t batch_size = 1;  // items of the global batch, over all ranks
  bool shuffle = false;
  bool drop_last = false;
  int rank = 0, world = 1;
  uint64_t seed = 0;  // of the shuffle
};

class SeedPlan {
 public:
  explicit SeedPlan(const SeedPlanOptions& options);

  // The same number on every rank.
  [[nodiscard]] int64_t num_steps() const;
  // How many items the global batch of a step has.
  [[nodiscard]] int64_t global_size(int64_t step) const;
  // This rank's items of a step, in order.
  [[nodiscard]] std::vector<int64_t> items(int64_t epoch, int64_t step) const;

 private:
  SeedPlanOptions options_;
};

// Seeds that are nodes: item i is the node ids[i] of one type.
struct NodeSeeds {
  int node_type = 0;
  Array ids;  // int32 or int64; without data item i is node i
  SeedPlan plan;

  [[nodiscard]] std::vector<int64_t> nodes(int64_t epoch, int64_t step) const;
};

}  // namespace ramet
