// RowGroups: the entries of lists by the row that they name, for scatters that have to be
// deterministic.
//
// A counting sort puts ids into buckets of consecutive rows, in order. Each bucket fits into the
// caches, and whichever thread takes it sorts it by row and keeps the order of equal rows. So the
// entries of a row lie side by side and in order, for any number of threads, and rows come in
// ascending order, which is kind to the TLB.
//
// Memory: its own; the ids are the caller's and are not kept. Threads: one builds; any may look.
// Failure: kOutOfRange for an id outside the rows, before anything is visited.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "ramet/row_list.h"

namespace ramet {

// A row of a bucket in the upper half, a position in the lower half.
using RowEntry = uint64_t;

// Entries of one bucket, sorted. `first_row` is what their rows count from.
struct RowBucket {
  int64_t first_row;
  std::span<const RowEntry> entries;

  [[nodiscard]] int64_t row(size_t i) const {
    return first_row + static_cast<int64_t>(entries[i] >> 32);
  }
  [[nodiscard]] int64_t position(size_t i) const {
    return static_cast<int64_t>(entries[i] & 0xffffffff);
  }
  // Behind the last entry of the row at `first`.
  [[nodiscard]] size_t end_of_row(size_t first) const {
    size_t last = first + 1;
    while (last < entries.size() && row(last) == row(first))
      ++last;
    return last;
  }
};

class RowGroups {
 public:
  // Positions count through the ids of all `lists`, whose rows are not looked at. Ids are rows
  // below `num_rows`; those outside [begin, end) are somebody else's and are left out.
  RowGroups(std::span<const RowList> lists, int64_t num_rows, int64_t begin, int64_t end);

  // Calls body(bucket) for all buckets, on at most `threads` threads. Once.
  void visit(int threads, FunctionRef<void(const RowBucket&)> body);

 private:
  [[nodiscard]] size_t bucket_of(int64_t row) const {
    return static_cast<size_t>((row - begin_) >> shift_);
  }

  int64_t begin_, end_;
  int shift_ = 0;                // of rows: to their bucket
  std::vector<int64_t> starts_;  // of buckets among entries_
  std::vector<RowEntry> entries_;
};

}  // namespace ramet
