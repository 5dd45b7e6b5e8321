// The rows of destinations: where their in-edges stand in the CSC.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "base/prefetch.h"
#include "ramet/graph.h"
#include "ramet/node_rows.h"
#include "ramet/pages.h"
#include "ramet/random.h"

namespace ramet {

// A destination's in-edges: positions begin to begin + degree of the CSC.
struct Row {
  int64_t begin, degree;
};

// Ids of 32 or of 64 bits, for code whose inner loops do not depend on the width.
class IdSpan {
 public:
  IdSpan() = default;
  template <typename Id>
  IdSpan(std::span<const Id> ids)
      : ids_(ids.data()), size_(ids.size()), is_narrow_(sizeof(Id) == sizeof(int32_t)) {}
  explicit IdSpan(const Array& ids) : IdSpan(with_ids(ids, [](auto of) { return IdSpan(of); })) {}

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] int64_t operator[](size_t i) const {
    return is_narrow_ ? static_cast<const int32_t*>(ids_)[i] : static_cast<const int64_t*>(ids_)[i];
  }
  // Calls body with the ids as a span.
  template <typename Body>
  auto with(Body&& body) const {
    if (is_narrow_) return body(std::span(static_cast<const int32_t*>(ids_), size_));
    return body(std::span(static_cast<const int64_t*>(ids_), size_));
  }
  [[nodiscard]] IdSpan subspan(size_t first, size_t count) const {
    return with([&](auto ids) { return IdSpan(ids.subspan(first, count)); });
  }

 private:
  const void* ids_ = nullptr;
  size_t size_ = 0;
  bool is_narrow_ = false;
};

// An entry of a store's file that cannot be: kCorrupt with location, position and value.
[[noreturn]] void throw_bad_entry(const std::string& location,
                                  int64_t position,
                                  int64_t value,
                                  const std::string& bound);

// Throws what a row's bounds that do not fit throw.
[[noreturn]] void throw_bad_row(const EdgeType& edges, int64_t row, int64_t begin, int64_t end);

// Whatever the file holds, the result lies inside the edges.
inline Row checked_row(const EdgeType& edges, int64_t row, int64_t begin, int64_t end) {
  const bool fits = static_cast<uint64_t>(end) <= static_cast<uint64_t>(edges.num_edges()) &&
                    static_cast<uint64_t>(begin) <= static_cast<uint64_t>(end);
  if (!fits) throw_bad_row(edges, row, begin, end);
  return {begin, end - begin};
}

// Reads one row's bounds.
inline Row read_row(const EdgeType& edges, const int64_t* indptr, int64_t row) {
  return checked_row(edges, row, indptr[row], indptr[row + 1]);
}

inline constexpr int64_t kRowsReadAhead = 4096;  // where memory does not hold the edges

// Where memory does not hold the edges: starts reading these rows, so that the disk has many reads
// at once; a sampler that touches one page after the other waits for each. A row on more pages than
// it gives picks is left to these.
inline void read_ahead_rows(const EdgeType& edges, std::span<const Row> rows, int64_t fanout) {
  constexpr int64_t kPage = 4096;
  if (!edges.read_by_row) return;
  const int64_t width = edges.indices.row_bytes();
  for (const Row& row : rows) {
    const int64_t bytes = row.degree * width;
    if (bytes > 0 && (fanout == kAllNeighbors || (bytes - 1) / kPage < fanout))
      read_ahead(static_cast<const char*>(edges.indices.data) + row.begin * width, bytes);
  }
}

// The same with the bounds of rows.
template <typename Id>
void read_ahead_bounds(const EdgeType& edges, std::span<const Id> rows) {
  const int64_t* indptr = edges.indptr.as<int64_t>().data();
  for (const Id row : rows)
    read_ahead(&indptr[row], 2 * sizeof(int64_t));
}

// Calls body(first + i, row) with each of the `rows`, whose bounds are requested some iterations
// ahead.
template <typename Id, typename Body>
void read_rows(const EdgeType& edges, std::span<const Id> rows, int64_t first, Body&& body) {
  constexpr int64_t kAhead = 128;
  const int64_t* indptr = edges.indptr.as<int64_t>().data();
  const auto count = static_cast<int64_t>(rows.size());
  const Id* row = rows.data();
  for (int64_t begin = 0; begin < count; begin += kRowsReadAhead) {
    const int64_t end = std::min(begin + kRowsReadAhead, count);
    if (edges.read_by_row) read_ahead_bounds(edges, std::span(row + begin, row + end));
    for (int64_t i = begin; i < end; ++i) {
      if (i + kAhead < count) prefetch(&indptr[row[i + kAhead]]);
      body(first + i, read_row(edges, indptr, row[i]));
    }
  }
}

// Calls body(i, row) with the row of nodes[i], destinations of `edges`, for begin <= i < end. Where
// nodes are not rows, some are looked up ahead. kOutOfRange for a node whose in-edges are in
// another part.
template <typename Id, typename Body>
void for_each_row(const EdgeType& edges,
                  const NodeRows& node_rows,
                  std::span<const Id> nodes,
                  int64_t begin,
                  int64_t end,
                  Body&& body) {
  const auto some = [&](int64_t from, int64_t to) {
    return nodes.subspan(static_cast<size_t>(from), static_cast<size_t>(to - from));
  };
  if (node_rows.is_whole()) return read_rows(edges, some(begin, end), begin, body);
  constexpr int64_t kLookedUp = 1024;
  int64_t rows[kLookedUp];
  for (int64_t first = begin; first < end; first += kLookedUp) {
    const int64_t last = std::min(first + kLookedUp, end);
    node_rows.require(some(first, last), rows);
    read_rows(edges, std::span<const int64_t>(rows, static_cast<size_t>(last - first)), first,
              body);
  }
}

}  // namespace ramet
