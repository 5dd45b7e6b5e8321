// Edges that no hop draws: out of their rows before anything is drawn. docs/semantics.md,
// section 24.
//
// They are few, and shared by the hops of a batch, so an edge type has one list of their positions,
// ascending. A row is a range of positions, so those of a row are a range of the list: found by
// bisection, whoever the row's destination is, in whatever tree, on whatever rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "rows.h"

namespace ramet {

// The positions by edge type, or nothing where none is excluded. Copies, which are what was
// checked: the caller's memory may change meanwhile. kOutOfRange: no such edge type or position;
// kInvalidArgument: a type twice, or positions that do not ascend.
[[nodiscard]] std::vector<std::vector<int64_t>> excluded_by_type(
    const Graph& graph, std::span<const ExcludedEdges> excluded);
// The same of one edge type.
void check_excluded(const EdgeType& edges, std::span<const int64_t> positions);

// Those of a row. Most rows have none, so no branch depends on where a row is.
inline std::span<const int64_t> excluded_in(std::span<const int64_t> excluded, const Row& row) {
  if (excluded.empty()) return {};
  const int64_t* first = excluded.data();
  for (size_t count = excluded.size(); count > 1;) {
    const size_t half = count / 2;
    first += half * static_cast<size_t>(first[half - 1] < row.begin);
    count -= half;
  }
  first += *first < row.begin ? 1 : 0;
  const int64_t* const end = excluded.data() + excluded.size();
  const int64_t row_end = row.begin + row.degree;
  if (first == end || *first >= row_end) return {};
  return {first, std::lower_bound(first, end, row_end)};
}

// From a position in a row without its excluded edges to the edge's position. `excluded`: those of
// the row.
inline int64_t skip_excluded(std::span<const int64_t> excluded, int64_t position) {
  // Before the i-th excluded edge are i fewer positions than before its own.
  int64_t before = 0;
  for (int64_t end = std::ssize(excluded); before < end;) {
    const int64_t middle = before + (end - before) / 2;
    if (excluded[static_cast<size_t>(middle)] - middle <= position) {
      before = middle + 1;
    } else {
      end = middle;
    }
  }
  return position + before;
}

// Calls body(begin, end) with the runs of positions that the row's `excluded` edges leave.
template <typename Body>
void for_each_run(const Row& row, std::span<const int64_t> excluded, Body&& body) {
  int64_t begin = row.begin;
  for (const int64_t position : excluded) {
    if (begin < position) body(begin, position);
    begin = position + 1;
  }
  if (begin < row.begin + row.degree) body(begin, row.begin + row.degree);
}

// The numbers in their row of the edges that its excluded ones leave, ascending.
class RemainingNumbers {
 public:
  RemainingNumbers(const Row& row, std::span<const int64_t> excluded)
      : row_(row), excluded_(excluded) {}

  [[nodiscard]] int64_t size() const { return row_.degree - std::ssize(excluded_); }
  int64_t operator[](int64_t j) const {
    if (excluded_.empty()) return j;
    return skip_excluded(excluded_, row_.begin + j) - row_.begin;
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
  Row row_;
  std::span<const int64_t> excluded_;
};

}  // namespace ramet
