#include "listed_plan.h"

#include <utility>

#include "ramet/error.h"

namespace ramet {
namespace {

void check_offsets(const BatchList& batches) {
  const auto& offsets = batches.offsets;
  if (offsets.empty()) throw_invalid("offsets is empty, expected one more entry than batches");
  if (offsets[0] != 0) throw_invalid("offsets[0] is ", offsets[0], ", expected 0");
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] < offsets[i - 1])
      throw_invalid("offsets[", i, "] is ", offsets[i], ", expected at least offsets[", i - 1,
                    "] = ", offsets[i - 1]);
  }
  if (offsets.back() != std::ssize(batches.order))
    throw_invalid("offsets[", offsets.size() - 1, "], the last, is ", offsets.back(), ", expected ",
                  batches.order.size(), ", the length of order");
}

}  // namespace

ListedPlan::ListedPlan(BatchList batches, int64_t num_items, int rank, int world)
    : BatchPlan(rank, world), batches_(std::move(batches)) {
  check_offsets(batches_);
  require_positions(batches_.order, num_items, "order");
}

int64_t ListedPlan::num_steps() const {
  return std::ssize(batches_.offsets) - 1;
}

int64_t ListedPlan::global_size(int64_t step) const {
  require_index(step, num_steps(), "step");
  const auto i = static_cast<size_t>(step);
  return batches_.offsets[i + 1] - batches_.offsets[i];
}

std::vector<int64_t> ListedPlan::items_of(int64_t /*epoch*/,
                                          int64_t step,
                                          const Slice& slice) const {
  const auto begin =
      batches_.order.begin() + batches_.offsets[static_cast<size_t>(step)] + slice.begin;
  return {begin, begin + slice.size};
}

void require_positions(std::span<const int64_t> positions, int64_t num_items, const char* name) {
  for (size_t i = 0; i < positions.size(); ++i) {
    if (0 <= positions[i] && positions[i] < num_items) continue;
    throw_error(ErrorCode::kOutOfRange, name, "[", i, "] is ", positions[i], ", outside [0, ",
                num_items, ") of the input nodes");
  }
}

}  // namespace ramet
