// SeedPlan: which items of an epoch form which batch, and which of them this rank has.
// docs/semantics.md, section 6, defines their order.
//
// Arithmetic alone: no thread, and no array of the epoch. Values; any thread may read them.
// Failure: a bad option is kInvalidArgument, a step beyond the epoch kOutOfRange.
#pragma once

#include <cstdint>
#include <vector>

#include "batch_plan.h"

namespace ramet {

struct SeedPlanOptions {
  int64_t num_items = 0;
  int64_t batch_size = 1;  // items of the global batch, over all ranks
  bool shuffle = false;
  bool drop_last = false;
  int rank = 0, world = 1;
  uint64_t seed = 0;  // of the shuffle
};

class SeedPlan final : public BatchPlan {
 public:
  explicit SeedPlan(const SeedPlanOptions& options);

  [[nodiscard]] int64_t num_steps() const override;
  [[nodiscard]] int64_t global_size(int64_t step) const override;

 private:
  [[nodiscard]] std::vector<int64_t> items_of(int64_t epoch,
                                              int64_t step,
                                              const Slice& slice) const override;

  SeedPlanOptions options_;
};

}  // namespace ramet
