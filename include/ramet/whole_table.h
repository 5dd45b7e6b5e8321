// RowPositions and WholeTable: rows of a table in several pieces, one for each owner, all in one
// range of addresses (map_side_by_side of shared_memory.h). A row's *position* is its row number in
// that range.
//
// Memory: values that share the map and the rows, and keep them alive. Threads and forks: immutable
// but for the rows; any may read, and no two write the same rows at once. Failure: kOutOfRange
// names the first id outside the table; kInvalidArgument for a map that does not fit the owners.
// The entries of a map are trusted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/ownership.h"
#include "ramet/table.h"

namespace ramet {

class RowPositions {
 public:
  // A row's position is its id. `ranges`: of ids.
  [[nodiscard]] static RowPositions dense(Ownership ranges);
  // The rows of part k, in the order of their ids, are the positions from k * stride on. `map`: the
  // output of write_map(), or nothing if the owners are ranges.
  [[nodiscard]] static RowPositions strided(Ownership owners, int64_t stride, Array map = {});

  [[nodiscard]] int64_t num_rows() const { return owners_.num_nodes(); }
  [[nodiscard]] int64_t num_positions() const { return num_positions_; }
  [[nodiscard]] int64_t parts() const { return owners_.parts(); }
  [[nodiscard]] bool is_dense() const { return is_dense_; }
  [[nodiscard]] int64_t stride() const { return stride_; }  // 0 where it is dense
  [[nodiscard]] const Ownership& owners() const { return owners_; }
  [[nodiscard]] const Array& map() const { return map_; }

  // How positions follow from ids where owners are ranges: position = id + deltas[part], where
  // parts 1, 2 and so on begin at `begins`, filled up to 2^n - 1. Of dense positions one part. Else
  // empty.
  struct Ranges {
    std::vector<int64_t> begins, deltas;
  };
  [[nodiscard]] Ranges ranges() const;
  // The positions of the rows of a part. kOutOfRange unless `part` is a part.
  [[nodiscard]] NodeRange positions_of(int64_t part) const;
  // positions[i] = the position of row ids[i].
  void look_up(std::span<const int64_t> ids, int64_t* positions, int threads = 1) const;
  // Of ids [begin, end) alone, to positions[0], positions[1], ...
  void look_up(std::span<const int64_t> ids, int64_t begin, int64_t end, int64_t* positions) const;
  // int64: the ids of a part's rows, ascending.
  [[nodiscard]] Array owned(int64_t part) const;

 private:
  explicit RowPositions(Ownership owners) : owners_(std::move(owners)) {}
  // Whether all ids are rows; then their positions.
  [[nodiscard]] bool look_up_piece(std::span<const int64_t> ids, int64_t* positions) const;
  [[nodiscard]] bool look_up_in_ranges(std::span<const int64_t> ids, int64_t* positions) const;
  void set_ranges();

  Ownership owners_;
  bool is_dense_ = true;
  int64_t stride_ = 0, num_positions_ = 0;
  std::vector<int64_t> rows_of_;  // by part
  // Of ranges: where parts 1, 2, ... begin, filled up to 2^n - 1, and position - id by part.
  std::vector<int64_t> begins_, deltas_;
  Array map_;  // of other owners: int32 or int64 [num_rows]
};

// The stride with which every piece of rows of `row_bytes` begins at a multiple of 2 MiB; of 4 KiB
// if that would take more than 2^44 bytes of addresses.
[[nodiscard]] int64_t stride_of(const Ownership& owners, int64_t row_bytes);

// The dtype of a map: int32 if all positions fit, else int64.
[[nodiscard]] DType map_dtype(const Ownership& owners, int64_t stride);
// Writes the position of every row. `out`: map_dtype() [num_rows], writable.
void write_map(const Ownership& owners, int64_t stride, const Array& out);

class WholeTable {
 public:
  // `rows_by_position`: a row for every position.
  WholeTable(Table rows_by_position, RowPositions positions);

  [[nodiscard]] const Table& rows_by_position() const { return rows_; }
  [[nodiscard]] const RowPositions& positions() const { return positions_; }

  // As those of Table.
  void gather(std::span<const int64_t> ids, void* out, int threads = 1) const;
  [[nodiscard]] Array gather(std::span<const int64_t> ids, int threads = 1) const;
  void gather_float32(std::span<const int64_t> ids, float* out, int threads = 1) const;
  [[nodiscard]] Array gather_float32(std::span<const int64_t> ids, int threads = 1) const;

  // As set_rows() and sum_rows() of table_rows.h.
  void set_rows(std::span<const int64_t> ids, const Array& rows, int threads = 1) const;
  void sum_rows(std::span<const int64_t> ids, const Array& rows, int threads = 1) const;

  // The rows of a part, in the order of their ids: a view.
  [[nodiscard]] Array piece(int64_t part) const;

 private:
  [[nodiscard]] std::vector<int64_t> positions_of(std::span<const int64_t> ids, int threads) const;

  Table rows_;
  RowPositions positions_;
};

}  // namespace ramet
