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
#include <vector>

#include "base/block_sum.h"
#include "base/prefetch.h"
#include "edges_in_time.h"
#include "excluded_edges.h"
#include "kernels/cpu/isa_kernels.h"
#include "relation_builder.h"
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

  // Of the edges that of() gave last: their parts of the row's weight. Empty without weights.
  [[nodiscard]] std::span<const double> shares() const { return shares_; }

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
    load(weights, row, allowed);
    const double sum = sum_in_blocks(shares_.size(), [&](size_t j) { return shares_[j]; });
    int64_t left_out = 0;
    for (double& share : shares_) {
      share = sum == 0 ? 0 : share / sum;
      left_out += share >= kSmallestWeight ? 0 : 1;
    }
    if (left_out == 0) return allowed;
    numbers_.resize(shares_.size());
    allowed.copy(0, allowed.size(), numbers_.data());
    size_t kept = 0;
    for (size_t j = 0; j < shares_.size(); ++j) {
      numbers_[kept] = numbers_[j];
      shares_[kept] = shares_[j];
      kept += shares_[j] >= kSmallestWeight ? 1 : 0;
    }
    numbers_.resize(kept);
    shares_.resize(kept);
    return Edges(numbers_);
  }

  // Writes the weights to shares_. kInvalidArgument for what is no weight.
  template <typename Weight>
  void load(std::span<const Weight> weights, const Row& row, const Edges& allowed) {
    shares_.resize(static_cast<size_t>(allowed.size()));
    for (int64_t first = 0; first < allowed.size(); first += kTogether) {
      const int64_t count = std::min(kTogether, allowed.size() - first), begin = allowed[first];
      double* const out = shares_.data() + first;
      if (allowed[first + count - 1] - begin == count - 1 &&  // side by side
          !std::isnan(kernel_.load(weights.data() + row.begin + begin, count, weight_.data()))) {
        std::copy_n(weight_.data(), count, out);
      } else {
        for (int64_t j = 0; j < count; ++j)
          out[j] = checked_weight(weights, row.begin + allowed[first + j], table_, task_.edges);
      }
    }
  }

  static constexpr int64_t kTogether = 1024;  // weights that are loaded

  const RelationTask<Id>& task_;
  const std::string& table_;
  std::optional<EdgesInTime<Id>> in_time_;
  const Array* weights_ = nullptr;
  std::vector<int64_t> numbers_;
  std::vector<double> shares_;
  WeightedKernel kernel_ = best_kernels().weighted;
  alignas(64) std::array<double, kTogether + kWeightedPadding> weight_ = {};
};

}  // namespace ramet
