// WalkRows: the rows of one edge type as a walk draws from them.
//
// Uniform: one word. By weights: a bisection of the row's sums. Node2vec: rejection, which looks at
// one candidate and, unless that is accepted anyway, at one row (Yang et al.: "KnightKing: a fast
// distributed graph random walk engine", SOSP 2019). A row that rejects kTries candidates is added
// up instead, so that the time is bounded and the distribution stays.
#pragma once

#include <cstdint>

#include "base/prefetch.h"
#include "ramet/random.h"
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
  // The edges of `row` at `now` or later, or at `now` or earlier.
  [[nodiscard]] Row in_time(Row row, int64_t now, bool decreasing) const;

  // The position of the edge that the words of `key` draw from a part of a row that began at
  // `row_begin`; -1 where all weigh nothing. `t`: the first word that is not used.
  [[nodiscard]] int64_t draw(Row row, int64_t row_begin, uint64_t key, uint64_t t) const {
    const uint64_t word = absorb(key, t);
    if (sums_ != nullptr) return draw_by_sums(row, row_begin, word);
    return row.begin + static_cast<int64_t>(uniform_below(word, static_cast<uint64_t>(row.degree)));
  }
  // The same with node2vec's bias.
  [[nodiscard]] int64_t draw_biased(Row row,
                                    int64_t row_begin,
                                    const Node2Vec& bias,
                                    int64_t previous,
                                    uint64_t key,
                                    uint64_t t) const;

  // Of an edge of the row that begins at `row_begin`, and of a row.
  [[nodiscard]] double weight(int64_t position, int64_t row_begin) const {
    return sums_ == nullptr ? 1 : sums_[position] - sum_before(position, row_begin);
  }
  [[nodiscard]] double total(Row row) const {
    if (row.degree == 0 || sums_ == nullptr) return static_cast<double>(row.degree);
    return sums_[row.begin + row.degree - 1];
  }

  // The node that an edge leads to. kCorrupt where the store names none.
  [[nodiscard]] int64_t end_of(int64_t position) const;
  [[nodiscard]] int64_t id_of(int64_t position) const;
  void prefetch_edge(int64_t position, bool with_id) const;

 private:
  [[nodiscard]] int64_t draw_by_sums(Row row, int64_t row_begin, uint64_t word) const;
  [[nodiscard]] int64_t draw_by_biased_sums(
      Row row, int64_t row_begin, const Node2Vec& bias, int64_t previous, uint64_t word) const;
  [[nodiscard]] double bias_of(int64_t position, const Node2Vec& bias, int64_t previous) const;
  [[nodiscard]] bool leads_to(int64_t node, int64_t end) const;
  [[nodiscard]] double sum_before(int64_t position, int64_t row_begin) const {
    return position == row_begin ? 0.0 : sums_[position - 1];
  }

  const EdgeType* edges_;
  int64_t num_ends_;
  const int64_t* indptr_;
  const void* ends_;
  bool narrow_ends_;
  const double* sums_ = nullptr;
  const int64_t* times_ = nullptr;
};

}  // namespace ramet
