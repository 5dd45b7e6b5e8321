// LaborEdges: which in-edges of a row LABOR draws from: those that a time allows, and that have
// weight; docs/semantics.md, sections 8 and 16.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/block_sum.h"
#include "base/prefetch.h"
#include "edges_in_time.h"
#include "excluded_edges.h"
#include "kernels/cpu/isa_kernels.h"
#include "relation_builder.h"
#include "solve_c.h"
#include "weights.h"

namespace ramet {

// For a task with times, or with a table of weights, or with both. Of one thread.
template <typename Id>
class LaborEdges {
 public:
  using Edges = typename EdgesInTime<Id>::Edges;

  // table: of weights; empty for none.
  LaborEdges(const RelationTask<Id>& task, const std::string& table) : task_(task), table_(table) {
    if (task.times != nullptr) in_time_.emplace(task);
    if (!table.empty()) weights_ = &task.edges.tables.at(table);
  }

  // Of destination i, whose row it is; until the next call.
  template <typename Index>
  Edges of(std::span<const Index> stored, const Row& row, size_t i) {
    const Edges allowed = in_time_ ? in_time_->of(stored, row, i)
                                   : Edges(0, RemainingNumbers(row, task_.excluded_in(row)));
    if (weights_ == nullptr) return allowed;
    if (weights_->dtype == DType::kFloat32) return with_weight(weights_->as<float>(), row, allowed);
    return with_weight(weights_->as<double>(), row, allowed);
  }

  // Of the edges that of() gave last: their parts of the row's weight. Empty without weights. The
  // kLaborPadding behind them are negative.
  [[nodiscard]] std::span<const double> shares() const { return {shares_.data(), num_shares_}; }
  // Of these shares: solve_c_of_shares().
  [[nodiscard]] double solve_c(int64_t fanout) const {
    return share_sum_ ? solve_c_of_shares(shares(), fanout, *share_sum_)
                      : solve_c_of_shares(shares(), fanout);
  }

  // Asks for the weights of a row that of() will be called with soon.
  template <typename Index>
  void request(std::span<const Index> /*stored*/, const Row& row) const {
    if (weights_ == nullptr) return;
    constexpr int64_t kMostBytes = 4096, kLine = 64;  // the hardware sees the rest
    const int64_t bytes = row.degree * weights_->row_bytes();
    const char* first =
        static_cast<const char*>(weights_->data) + row.begin * weights_->row_bytes();
    for (int64_t at = 0; at < std::min(bytes, kMostBytes); at += kLine)
      prefetch(first + at);
  }

 private:
  template <typename Weight>
  Edges with_weight(std::span<const Weight> weights, const Row& row, const Edges& allowed) {
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
  Edges keep_shares(const Edges& allowed) {
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
    return Edges(numbers_);
  }

  void end_shares() { std::fill_n(shares_.data() + num_shares_, kLaborPadding, -1); }

  // The weights of up to kSumBlock edges from the first-th on, until the next call.
  template <typename Weight>
  const Weight* block(std::span<const Weight> weights,
                      const Row& row,
                      const Edges& allowed,
                      int64_t first) {
    const int64_t count = std::min(kSumBlock, allowed.size() - first);
    const Weight* const of_row = weights.data() + row.begin;
    if (allowed[first + count - 1] - allowed[first] == count - 1)  // side by side
      return of_row + allowed[first];
    auto& copied = std::get<std::array<Weight, kSumBlock>>(weight_);
    for (int64_t j = 0; j < count; ++j)
      copied[static_cast<size_t>(j)] = of_row[allowed[first + j]];
    return copied.data();
  }

  // kInvalidArgument for what is no weight.
  template <typename Weight>
  double block_sum(const LaborWeights<Weight>& kernel,
                   std::span<const Weight> weights,
                   const Row& row,
                   const Edges& allowed,
                   int64_t first) {
    const int64_t count = std::min(kSumBlock, allowed.size() - first);
    double sum = kernel.sum(block(weights, row, allowed, first), count);
    if (!std::isnan(sum)) return sum;
    sum = 0;
    for (int64_t j = 0; j < count; ++j)
      sum += checked_weight(weights, row.begin + allowed[first + j], table_, task_.edges);
    return sum;
  }

  const RelationTask<Id>& task_;
  const std::string& table_;
  std::optional<EdgesInTime<Id>> in_time_;
  const Array* weights_ = nullptr;
  std::vector<int64_t> numbers_;
  std::vector<double> shares_;  // the first num_shares_
  size_t num_shares_ = 0;
  std::optional<double> share_sum_;  // in blocks; not where some were left out
  LaborKernel kernel_ = best_kernels().labor;
  std::tuple<std::array<float, kSumBlock>, std::array<double, kSumBlock>> weight_ = {};
};

}  // namespace ramet
