// Edges that no hop draws: out of their rows before anything is drawn. docs/semantics.md,
// section 24.
//
// They are few, and shared by the hops of a batch, so an edge type has one list of their positions,
// ascending. A row is a range of positions, so those of a row are a range of the list, whoever its
// destination is, in whatever tree, on whatever rank. Most rows have none, and are told apart by
// two reads of a small table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "rows.h"

namespace ramet {

// Of one edge type. Any thread may read it.
class ExcludedPositions {
 public:
  ExcludedPositions() = default;
  // Copies what it checks: the caller's memory may change. kOutOfRange: positions of no edge;
  // kInvalidArgument: positions that do not ascend.
  ExcludedPositions(const EdgeType& edges, std::span<const int64_t> positions);

  [[nodiscard]] bool empty() const { return positions_.size() == 1; }
  [[nodiscard]] std::span<const int64_t> all() const {
    return std::span(positions_).first(positions_.size() - 1);
  }

  // Those in a row.
  [[nodiscard]] std::span<const int64_t> in(const Row& row) const {
    const int64_t* first = &positions_[before_block_[static_cast<size_t>(row.begin >> shift_)]];
    const int64_t end = row.begin + row.degree;
    if (*first >= end) [[likely]]
      return {};
    first = first_from(row.begin);
    const int64_t* last = first;
    while (*last < end)
      ++last;
    return {first, last};
  }

 private:
  // The first that is at `position` or behind it.
  [[nodiscard]] const int64_t* first_from(int64_t position) const;

  static constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> positions_{kEnd};   // kEnd comes last
  int shift_ = 62;                         // a block is 2^shift_ positions of the edge type
  std::vector<uint32_t> before_block_{0};  // how many stand before each block
};

// By edge type, or nothing where none is excluded. Throws as ExcludedPositions does; also
// kOutOfRange for an edge type that is none, kInvalidArgument for one that is named twice.
[[nodiscard]] std::vector<ExcludedPositions> excluded_by_type(
    const Graph& graph, std::span<const ExcludedEdges> excluded);

// Calls body(begin, end) with the runs of positions that the `excluded` edges of a row leave.
template <typename Body>
void for_each_run(const Row& row, std::span<const int64_t> excluded, Body&& body) {
  int64_t begin = row.begin;
  for (const int64_t position : excluded) {
    if (begin < position) body(begin, position);
    begin = position + 1;
  }
  if (begin < row.begin + row.degree) body(begin, row.begin + row.degree);
}

// The numbers in their row of the edges that its `excluded` ones leave, ascending. Of one thread.
class RemainingNumbers {
 public:
  RemainingNumbers(const Row& row, std::span<const int64_t> excluded)
      : row_(row), excluded_(excluded), end_(excluded.empty() ? size() : 0) {}

  [[nodiscard]] const Row& row() const { return row_; }
  [[nodiscard]] int64_t size() const { return row_.degree - std::ssize(excluded_); }
  int64_t operator[](int64_t j) const {
    if (j < begin_ || j >= end_) find_run(j);
    return j + before_;
  }
  // Writes `count` of them, from the j-th on.
  void copy(int64_t j, int64_t count, int64_t* out) const {
    for (const int64_t end = j + count; j < end;) {
      if (j < begin_ || j >= end_) find_run(j);
      const int64_t run_end = std::min(end, end_), before = before_;
      for (; j < run_end; ++j)
        *out++ = j + before;
    }
  }
  [[nodiscard]] std::span<const int64_t> excluded() const { return excluded_; }
  // Calls body(number) with all of them, in order.
  template <typename Body>
  void for_each(Body&& body) const {
    for_each_run(row_, excluded_, [&](int64_t begin, int64_t end) {
      for (int64_t position = begin; position < end; ++position)
        body(position - row_.begin);
    });
  }

 private:
  void find_run(int64_t j) const;

  Row row_;
  std::span<const int64_t> excluded_;
  // The run that the last number is in, since most numbers are asked for in order: those of
  // begin_ to end_ have `before_` excluded edges before them.
  mutable int64_t begin_ = 0, end_ = 0, before_ = 0;
};

}  // namespace ramet
