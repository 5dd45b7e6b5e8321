// RowCache: rows of a table, kept from batch to batch: those that were used last, a bounded number.
// Worth it where reading a row costs more than copying it: from a disk, or over a link.
//
// Least recently used goes first, but never a row of the batch that is being gathered: where a
// batch alone is larger than the cache, the cache keeps its first rows instead of nothing.
// Memory: `capacity` rows as they are handed out, and 4 bytes for each row of the table. One
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/table.h"

namespace ramet {

class RowCache {
 public:
  // Writes the rows `ids` of the table to `out`.
  using Read = std::function<void(std::span<const int64_t> ids, void* out)>;

  // A cache over `num_rows` rows, `row_bytes` each as they are handed out.
  RowCache(int64_t capacity, int64_t num_rows, int64_t row_bytes);

  // Writes rows `ids`, which the table has and none of which `read` refuses, to `out`.
  void gather(std::span<const int64_t> ids, void* out, const Read& read);

  // Any thread may ask.
  [[nodiscard]] CacheUse use() const { return {hits_.load(), misses_.load()}; }

 private:
  [[nodiscard]] char* row(int32_t slot) { return rows_.data() + slot * row_bytes_; }
  void unlink(int32_t slot);
  void link_first(int32_t slot);
  // A slot for a new row, or -1 where all hold rows of this batch.
  int32_t free_slot();

  int64_t capacity_, row_bytes_;
  std::vector<char> rows_;
  std::vector<int32_t> slot_of_row_;      // -1: not here
  std::vector<int64_t> row_of_slot_;      // in the order in which slots were first filled
  std::vector<int32_t> previous_, next_;  // the slots by use; the last entry is the ends' link
  std::vector<int64_t> used_in_;          // batch, by slot
  int64_t batch_ = 0;
  std::vector<int64_t> missing_, missing_at_;  // of one batch: rows, and their places in it
  std::vector<char> read_;
  std::atomic<int64_t> hits_{0}, misses_{0};
};

}  // namespace ramet
