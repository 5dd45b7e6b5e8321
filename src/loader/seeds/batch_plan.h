// BatchPlan: which items form which batch of a stream, and which of them this rank has. Items are
// numbers from 0 on, whatever they stand for: a SeedPlan's are those of an epoch, a ListedPlan's
// those that a caller chose.
//
// Immutable; any thread may read it. Failure: a step beyond the last is kOutOfRange.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ramet {

// Which of the `size` items of a global batch a rank has.
struct Slice {
  int64_t begin, size;
};

// Contiguous, in the order of ranks; the first (size mod world) ranks take one more.
[[nodiscard]] inline Slice slice_of(int64_t size, int64_t rank, int64_t world) {
  const int64_t base = size / world, extra = size % world;
  return {rank * base + std::min(rank, extra), base + (rank < extra ? 1 : 0)};
}

class BatchPlan {
 public:
  virtual ~BatchPlan() = default;

  // The same number on every rank.
  [[nodiscard]] virtual int64_t num_steps() const = 0;
  // How many items the global batch of a step has.
  [[nodiscard]] virtual int64_t global_size(int64_t step) const = 0;
  // The items of the global batch, in order.
  [[nodiscard]] std::vector<int64_t> global_items(int64_t epoch, int64_t step) const {
    return items_of(epoch, step, {0, global_size(step)});
  }
  // This rank's items, in order, and which of the global batch they are.
  [[nodiscard]] std::vector<int64_t> items(int64_t epoch, int64_t step) const {
    return items_of(epoch, step, slice(step));
  }
  [[nodiscard]] Slice slice(int64_t step) const {
    return slice_of(global_size(step), rank_, world_);
  }

 protected:
  BatchPlan(int rank, int world) : rank_(rank), world_(world) {}

 private:
  // Those of the global batch that are in the slice; the step exists.
  [[nodiscard]] virtual std::vector<int64_t> items_of(int64_t epoch,
                                                      int64_t step,
                                                      const Slice& slice) const = 0;

  int rank_, world_;
};

}  // namespace ramet
