// Table: rows by row id (features, labels, embeddings).
//
// A value over an Array, which it keeps alive. gather() may run in any thread, and in several at
// once. Failure: an id outside the table is kOutOfRange and names value, bound and position.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ramet/array.h"

namespace ramet {

class Table {
 public:
  // `name` is how errors call the table.
  explicit Table(Array rows, std::string name = "table")
      : rows_(std::move(rows)), name_(std::move(name)) {}

  [[nodiscard]] const Array& rows() const { return rows_; }
  [[nodiscard]] const std::string& name() const { return name_; }

  // Writes row ids[i] to row i of `out` (ids.size() rows of this table's dtype and row shape, not
  // overlapping the table), on at most `threads` threads.
  void gather(std::span<const int64_t> ids, void* out, int threads = 1) const;
  // The same into a recycled buffer.
  [[nodiscard]] Array gather(std::span<const int64_t> ids, int threads = 1) const;

 private:
  Array rows_;
  std::string name_;
};

}  // namespace ramet
