// ListedPlan: the batches that a caller lists, in its order; see BatchList. It owns the list.
//
// Failure: the constructor checks the whole list. kInvalidArgument names a wrong offset,
// kOutOfRange a position that no input node has, each with its index in the list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "batch_plan.h"
#include "ramet/loader.h"

namespace ramet {

class ListedPlan final : public BatchPlan {
 public:
  // Of positions below `num_items`.
  ListedPlan(BatchList batches, int64_t num_items, int rank, int world);

  [[nodiscard]] int64_t num_steps() const override;
  [[nodiscard]] int64_t global_size(int64_t step) const override;

 private:
  [[nodiscard]] std::vector<int64_t> items_of(int64_t epoch,
                                              int64_t step,
                                              const Slice& slice) const override;

  const BatchList batches_;
};

// kOutOfRange, "order[7] is 205, outside [0, 205) of the input nodes".
void require_positions(std::span<const int64_t> positions, int64_t num_items, const char* name);

}  // namespace ramet
