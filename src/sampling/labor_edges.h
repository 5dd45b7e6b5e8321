// LaborEdges: which in-edges of a row LABOR draws from: those that may be drawn (row_edges.h), and
// that have weight; docs/semantics.md, sections 8 and 16.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/block_sum.h"
#include "kernels/cpu/isa_kernels.h"
#include "relation_builder.h"
#include "row_edges.h"

namespace ramet {

// Of one thread.
class LaborEdges {
 public:
  // table: of weights; empty for none.
  LaborEdges(const RelationRows& task, const std::string& table)
      : task_(task),
        table_(table),
        edges_(task),
        weights_(table.empty() ? nullptr : &task.edges.tables.at(table)) {}

  [[nodiscard]] bool have_weights() const { return weights_ != nullptr; }
  // To find the edges.
  [[nodiscard]] bool reads_sources() const { return edges_.reads_sources(); }

  // Of destination i, whose row it is; until the next call.
  EdgeNumbers of(const Row& row, size_t i) {
    return have_weights() ? with_weight(row, edges_.of(row, i)) : edges_.of(row, i);
  }

  // Of the edges that of() gave last: their parts of the row's weight. Empty without weights. The
  // kLaborPadding behind them are negative.
  [[nodiscard]] std::span<const double> shares() const { return {shares_.data(), num_shares_}; }
  // Of these shares: solve_c_of_shares().
  [[nodiscard]] double solve_c(int64_t fanout) const;

  void touch(const Row& row) const { edges_.touch(row); }
  // Asks for the weights and times of a row that of() will be called with soon.
  void request(const Row& row) const {
    edges_.request(row);
    if (have_weights()) request_weights(row);
  }

 private:
  void request_weights(const Row& row) const;
  EdgeNumbers with_weight(const Row& row, const EdgeNumbers& allowed);
  template <typename Weight>
  EdgeNumbers with_weight(std::span<const Weight> weights,
                          const Row& row,
                          const EdgeNumbers& allowed);
  EdgeNumbers keep_shares(const EdgeNumbers& allowed);
  void end_shares();
  template <typename Weight>
  const Weight* block(std::span<const Weight> weights,
                      const Row& row,
                      const EdgeNumbers& allowed,
                      int64_t first);
  template <typename Weight>
  double block_sum(const LaborWeights<Weight>& kernel,
                   std::span<const Weight> weights,
                   const Row& row,
                   const EdgeNumbers& allowed,
                   int64_t first);

  const RelationRows& task_;
  const std::string& table_;
  RowEdges edges_;
  const Array* weights_;
  std::vector<int64_t> numbers_;
  std::vector<double> shares_;  // the first num_shares_
  size_t num_shares_ = 0;
  std::optional<double> share_sum_;  // in blocks; not where some were left out
  LaborKernel kernel_ = best_kernels().labor;
  std::tuple<std::array<float, kSumBlock>, std::array<double, kSumBlock>> weight_ = {};
};

}  // namespace ramet
