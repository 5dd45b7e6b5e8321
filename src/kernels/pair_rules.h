// Whether pairs of nodes are edges, and candidates by weights, by CPU and GPU; docs/semantics.md,
// section 23. `Rows` reads the edges of one type, and `Row` is where a node's are: `begin` and
// `degree`.
#pragma once

#include <cstdint>

#include "base/exponential_lanes.h"
#include "base/first_where.h"
#include "base/lanes_scalar.h"

namespace ramet {

inline constexpr uint64_t kNegativeTries = 64;  // before candidates are enumerated

// Whether a row, sorted by the nodes that it names, has an edge to `wanted`: one at `time`, or up
// to it. Edges without times are there at all times.
template <typename Rows, typename Row>
constexpr bool has_edge(
    const Rows& rows, const Row& row, int64_t wanted, int64_t time, bool at_time) {
  const int64_t end = row.begin + row.degree;
  const auto is_behind = [&](int64_t position) { return rows.entry(position) >= wanted; };
  int64_t position = first_where(row.begin, end, is_behind);
  for (; position < end && rows.entry(position) == wanted; ++position) {
    if (!rows.has_times()) return true;
    const int64_t then = rows.time(position);
    if (at_time ? then == time : then <= time) return true;
  }
  return false;
}

// Of a row in the order of times: the part before `time`.
template <typename Rows, typename Row>
constexpr Row row_before(const Rows& rows, const Row& row, int64_t time) {
  const int64_t end = row.begin + row.degree;
  return {row.begin, first_where(row.begin, end, [&](int64_t position) {
                       return rows.time(position) >= time;
                     }) - row.begin};
}

// The number of the candidate that a word draws. sums: of weights up to each, the last above 0.
constexpr int64_t candidate_by_sums(const double* sums, int64_t count, uint64_t word) {
  const double last = sums[count - 1], point = fraction_lanes<Scalar>(word) * last;
  const int64_t found = first_where(0, count, [&](int64_t i) { return sums[i] > point; });
  if (found < count) return found;  // not rounded up to the last sum
  return first_where(0, count, [&](int64_t i) { return sums[i] >= last; });
}

}  // namespace ramet
