// The second half of building a CSC: what happens inside one bucket, whose edges, rows and output
// fit the second-level cache together. (A bucket of hubs may be larger: correct all the same.)
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "edge_arrays.h"

namespace ramet {

// Where the edges of a bucket go. `offsets` has an entry per row; no ids: nullptr.
template <typename Record>
struct Rows {
  std::span<int64_t> offsets;
  typename Record::Index* indices;
  typename Record::Id* ids;
};

// A stable counting sort by row of records that begin at `position` of the output. Offsets are
// first counts, then ends of rows; taking the records from the last to the first makes them
// beginnings, so that no cursors are needed.
template <typename Record>
void place(std::span<const Record> records, int64_t position, const Rows<Record>& rows) {
  int64_t* const offsets = rows.offsets.data();
  std::fill(rows.offsets.begin(), rows.offsets.end(), 0);
  for (const Record& record : records)
    ++offsets[record.row];
  for (int64_t& offset : rows.offsets)
    offset = position += offset;
  for (size_t i = records.size(); i-- > 0;) {
    const Record record = records[i];
    const int64_t p = --offsets[record.row];
    rows.indices[p] = record.source;
    if (rows.ids != nullptr) rows.ids[p] = record.id;
  }
}

// Sorts buckets by (row, source) with memory that grows to the largest of them: radix sort from the
// least significant digit, or std::sort where there are few records per digit value.
template <typename Record>
class BucketSorter {
 public:
  // num_rows: of a bucket.
  BucketSorter(int64_t num_rows, int64_t num_src)
      : row_bits_(bits_below(num_rows)), source_bits_(bits_below(num_src)) {}

  // Keeps, of the records with equal (row, source), the lowest id, at the front of `records`, and
  // returns how many.
  size_t deduplicate(std::span<Record> records) {
    if (records.size() >= kFewRecords) reserve(records.size());
    return deduplicate(records, scratch_.get());
  }

  // The same with room for as many records at `scratch`.
  size_t deduplicate(std::span<Record> records, Record* scratch) {
    const std::span<const Record> sorted = sort(records, scratch);
    size_t kept = 0;
    for (const Record& next : sorted) {
      if (kept > 0 && records[kept - 1].row == next.row &&
          records[kept - 1].source == next.source) {
        if (next.id < records[kept - 1].id) records[kept - 1].id = next.id;
      } else {
        records[kept++] = next;
      }
    }
    return kept;
  }

 private:
  static constexpr int kDigitBits = 11;
  static constexpr size_t kFewRecords = 1 << kDigitBits;

  static int bits_below(int64_t bound) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(bound, 1) - 1)));
  }

  // The sorted records are where they were, or in the scratch memory.
  std::span<const Record> sort(std::span<Record> records, Record* scratch) {
    if (records.size() < kFewRecords) {
      std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
        return a.row != b.row ? a.row < b.row : a.source < b.source;
      });
      return records;
    }
    std::span<Record> from = records, to{scratch, records.size()};
    const auto sort_digits = [&](int bits, auto key) {
      for (int shift = 0; shift < bits; shift += kDigitBits) {
        sort_digit(from, to, [&](const Record& r) {
          return static_cast<size_t>(key(r) >> shift) % kFewRecords;
        });
        std::swap(from, to);
      }
    };
    sort_digits(source_bits_, [](const Record& r) { return r.source; });
    sort_digits(row_bits_, [](const Record& r) { return r.row; });
    return from;
  }

  template <typename Digit>
  void sort_digit(std::span<const Record> from, std::span<Record> to, Digit digit) {
    next_.assign(kFewRecords, 0);
    for (const Record& record : from)
      ++next_[digit(record)];
    size_t total = 0;
    for (size_t& count : next_)
      total += std::exchange(count, total);
    for (const Record& record : from)
      to[next_[digit(record)]++] = record;
  }

  void reserve(size_t count) {
    if (count <= capacity_) return;
    scratch_.reset();
    scratch_ = std::make_unique_for_overwrite<Record[]>(count);
    capacity_ = count;
  }

  int row_bits_, source_bits_;
  std::unique_ptr<Record[]> scratch_;
  size_t capacity_ = 0;
  std::vector<size_t> next_;
};

}  // namespace ramet
