// RowCache: rows of a table by row id, a bounded number: those that were used last.
//
// Least recently used goes first, but never a row of the batch that is being gathered: where a
// batch alone is larger than the cache, the cache keeps its first rows instead of nothing.
// Memory: `capacity` rows as they are handed out, and 4 bytes for each row of the table. One
// thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ramet {

// What one batch needs that the cache does not have: rows, and their places in the batch.
struct MissingRows {
  int64_t batch = 0;
  std::vector<int64_t> ids, places;
};

class RowCache {
 public:
  // A cache over `num_rows` rows, `row_bytes` each as they are handed out.
  RowCache(int64_t capacity, int64_t num_rows, int64_t row_bytes);

  // Begins a batch: copies those of the rows `ids`, which the table has, to `out` that are here,
  // and says which are not.
  [[nodiscard]] MissingRows read(std::span<const int64_t> ids, void* out);
  // Copies `rows`, which are those that were missing, to their places in `out`, and keeps them.
  void insert(const MissingRows& missing, const void* rows, void* out);

 private:
  [[nodiscard]] char* row(int32_t slot) { return rows_.data() + slot * row_bytes_; }
  void unlink(int32_t slot);
  void link_first(int32_t slot);
  // A slot for a new row, or -1 where all hold rows of this batch.
  int32_t free_slot(int64_t batch);

  int64_t capacity_, row_bytes_;
  std::vector<char> rows_;
  std::vector<int32_t> slot_of_row_;      // -1: not here
  std::vector<int64_t> row_of_slot_;      // in the order in which slots were first filled
  std::vector<int32_t> previous_, next_;  // the slots by use; the last entry is the ends' link
  std::vector<int64_t> used_in_;          // batch, by slot
  int64_t batch_ = 0;
};

}  // namespace ramet
