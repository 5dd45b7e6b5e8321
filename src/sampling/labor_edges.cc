#include "labor_edges.h"

#include <algorithm>
#include <cmath>

#include "base/prefetch.h"
#include "solve_c.h"
#include "weights.h"

namespace ramet {

double LaborEdges::solve_c(int64_t fanout) const {
  return share_sum_ ? solve_c_of_shares(shares(), fanout, *share_sum_)
                    : solve_c_of_shares(shares(), fanout);
}

void LaborEdges::request_weights(const Row& row) const {
  constexpr int64_t kMostBytes = 4096, kLine = 64;  // the hardware sees the rest
  const int64_t width = weights_->row_bytes();
  const char* first = static_cast<const char*>(weights_->data) + row.begin * width;
  for (int64_t at = 0; at < std::min(row.degree * width, kMostBytes); at += kLine)
    prefetch(first + at);
}

EdgeNumbers LaborEdges::with_weight(const Row& row, const EdgeNumbers& allowed) {
  if (weights_->dtype == DType::kFloat32) return with_weight(weights_->as<float>(), row, allowed);
  return with_weight(weights_->as<double>(), row, allowed);
}

template <typename Weight>
EdgeNumbers LaborEdges::with_weight(std::span<const Weight> weights,
                                    const Row& row,
                                    const EdgeNumbers& allowed) {
  const LaborWeights<Weight>& kernel = kernel_.weights(weights.data());
  const int64_t size = allowed.size();
  shares_.resize(std::max(shares_.size(), static_cast<size_t>(size + kLaborPadding)));
  double sum = 0, of_shares = 0;  // in blocks
  for (int64_t first = 0; first < size; first += kSumBlock)
    sum += block_sum(kernel, weights, row, allowed, first);
  int64_t kept = 0;
  for (int64_t first = 0; first < size && sum > 0; first += kSumBlock) {
    const ShareBlock shares =
        kernel.shares(block(weights, row, allowed, first), std::min(kSumBlock, size - first), sum,
                      shares_.data() + first);
    kept += shares.kept;
    of_shares += shares.sum;
  }
  num_shares_ = static_cast<size_t>(kept);
  if (kept != size) return keep_shares(allowed);
  share_sum_ = of_shares;
  end_shares();
  return allowed;
}

// Leaves the edges with a share that is large enough.
EdgeNumbers LaborEdges::keep_shares(const EdgeNumbers& allowed) {
  numbers_.resize(static_cast<size_t>(allowed.size()));
  allowed.copy(0, allowed.size(), numbers_.data());
  size_t to = 0;
  for (size_t j = 0; j < numbers_.size() && to < num_shares_; ++j) {
    numbers_[to] = numbers_[j];
    shares_[to] = shares_[j];
    to += shares_[j] >= kSmallestWeight ? 1 : 0;
  }
  numbers_.resize(num_shares_);
  share_sum_.reset();
  end_shares();
  return EdgeNumbers(numbers_);
}

void LaborEdges::end_shares() {
  std::fill_n(shares_.data() + num_shares_, kLaborPadding, -1);
}

// The weights of up to kSumBlock edges from the first-th on, until the next call.
template <typename Weight>
const Weight* LaborEdges::block(std::span<const Weight> weights,
                                const Row& row,
                                const EdgeNumbers& allowed,
                                int64_t first) {
  const int64_t count = std::min(kSumBlock, allowed.size() - first);
  const Weight* const of_row = weights.data() + row.begin;
  if (allowed.are_side_by_side(first, count)) return of_row + allowed[first];
  auto& copied = std::get<std::array<Weight, kSumBlock>>(weight_);
  for (int64_t j = 0; j < count; ++j)
    copied[static_cast<size_t>(j)] = of_row[allowed[first + j]];
  return copied.data();
}

// kInvalidArgument for what is no weight.
template <typename Weight>
double LaborEdges::block_sum(const LaborWeights<Weight>& kernel,
                             std::span<const Weight> weights,
                             const Row& row,
                             const EdgeNumbers& allowed,
                             int64_t first) {
  const int64_t count = std::min(kSumBlock, allowed.size() - first);
  double sum = kernel.sum(block(weights, row, allowed, first), count);
  if (!std::isnan(sum)) return sum;
  sum = 0;
  for (int64_t j = 0; j < count; ++j)
    sum += checked_weight(weights, row.begin + allowed[first + j], table_, task_.edges);
  return sum;
}

}  // namespace ramet
