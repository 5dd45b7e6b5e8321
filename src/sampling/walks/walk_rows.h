// WalkRows: the rows of one edge type as a walk draws from them (kernels/walk_rules.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "kernels/walk_rules.h"
#include "ramet/walks.h"
#include "sampling/rows.h"

namespace ramet {

class WalkRows {
 public:
  // Throws kNotFound and kInvalidArgument for tables that are missing or of other dtypes.
  explicit WalkRows(const WalkEdges& walked);

  [[nodiscard]] const EdgeType& edges() const { return *edges_; }
  [[nodiscard]] int64_t num_rows() const { return edges_->indptr.rows() - 1; }
  [[nodiscard]] int64_t num_ends() const { return num_ends_; }
  [[nodiscard]] bool has_times() const { return times_ != nullptr; }
  [[nodiscard]] int64_t time(int64_t position) const { return times_[position]; }

  void prefetch_row(int64_t node) const { prefetch(&indptr_[node]); }
  [[nodiscard]] Row row(int64_t node) const { return read_row(*edges_, indptr_, node); }
  // Asks for what the first half of a bisection of the row's sums reads.
  void request_draw(const Row& row) const {
    if (sums_ == nullptr || row.degree == 0) return;
    prefetch(&sums_[row.begin + row.degree / 2]);
    prefetch(&sums_[row.begin + row.degree - 1]);
  }
  [[nodiscard]] bool has_sums() const { return sums_ != nullptr; }
  [[nodiscard]] double sum(int64_t position) const { return sums_[position]; }
  // Of all weights of a row.
  [[nodiscard]] double total(Row row) const {
    if (row.degree == 0 || !has_sums()) return static_cast<double>(row.degree);
    return sum(row.begin + row.degree - 1);
  }

  // The node that an edge leads to. kCorrupt where the store names none.
  [[nodiscard]] int64_t end_of(int64_t position) const;
  // The same, unchecked.
  [[nodiscard]] int64_t entry(int64_t position) const {
    return narrow_ends_ ? static_cast<const int32_t*>(ends_)[position]
                        : static_cast<const int64_t*>(ends_)[position];
  }
  [[nodiscard]] int64_t id_of(int64_t position) const;
  void prefetch_edge(int64_t position, bool with_id) const;

 private:
  const EdgeType* edges_;
  int64_t num_ends_;
  const int64_t* indptr_;
  const void* ends_;
  bool narrow_ends_;
  const double* sums_ = nullptr;
  const int64_t* times_ = nullptr;
};

// The rows of each step, and how walks draw from them. Throws what random_walks() throws for edge
// types and options that do not fit.
[[nodiscard]] std::vector<WalkRows> checked_path(std::span<const WalkEdges> metapath,
                                                 const WalkOptions& options);
[[nodiscard]] WalkRules rules_of(const WalkOptions& options);

}  // namespace ramet
