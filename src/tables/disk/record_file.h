// RecordFile: records of rows, in a file without a name. A record is written to its position in it,
// which it gets, behind the others, when it is written first: so new records are written side by
// side, where holes between records would cost the file system far more than the records.
//
// Memory: up to 4 bytes for each row that may have a record. One thread at a time. Failure: kIo and
// kNoSpace name the folder, and the row that cannot be read.
#pragma once

#include <atomic>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "base/function_ref.h"
#include "base/system/reserved_memory.h"
#include "ramet/node_rows.h"
#include "ramet/row_reader.h"
#include "record_layout.h"
#include "storage/row_writer.h"

namespace ramet {

// Takes the records of rows [first, first + count) of those asked for, one after the other.
using TakeRecords = FunctionRef<void(size_t first, size_t count, const std::byte* records)>;

class RecordFile {
 public:
  static constexpr int64_t kMostRows = std::numeric_limits<uint32_t>::max() - 1;

  // A file on the file system of `folder`, for records of `record_bytes`. `numbers`: of rows among
  // those that may have records.
  RecordFile(const std::string& folder,
             NodeRows numbers,
             int64_t record_bytes,
             RowReaderOptions::Method method);

  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] int64_t record_bytes() const { return width_.bytes; }
  [[nodiscard]] std::string how() const { return reader_->how(); }
  [[nodiscard]] int64_t bytes() const { return int64_t{count_.load()} * width_.bytes; }
  [[nodiscard]] int64_t memory_bytes() const;

  [[nodiscard]] bool has(int64_t row) const { return position(row) != 0; }
  // Records of distinct rows, ascending.
  ReadCounts write(std::span<const int64_t> rows, const PackRow& pack);

 private:
  friend class RecordReads;

  [[nodiscard]] uint32_t& position(int64_t row) const {
    return positions_.as<uint32_t>()[numbers_.row(row)];
  }

  std::string folder_;
  NodeRows numbers_;
  RecordWidth width_;
  ReservedMemory positions_;         // by number: uint32, from 1 on; 0: none
  std::atomic<uint32_t> count_ = 0;  // positions
  std::unique_ptr<RowWriter> writer_;
  std::shared_ptr<RowReader> reader_;
};

// Records of rows that the file has, on their way in pieces. Destroying it drops what is left.
class RecordReads {
 public:
  // Starts to read.
  RecordReads(const RecordFile& file, std::span<const int64_t> rows);

  // Until all are read. kIo.
  ReadCounts finish(TakeRecords take);

 private:
  struct Piece {
    size_t first = 0, count = 0;
    std::unique_ptr<std::byte[]> records;
    std::vector<int64_t> positions;     // in the file
    std::unique_ptr<PendingRows> rows;  // last: it writes to the records
  };

  void submit();
  [[nodiscard]] Error named(const Piece& piece, const RowReadError& error) const;

  const RecordFile& file_;
  std::span<const int64_t> rows_;
  size_t next_ = 0;  // the first that is not submitted
  std::deque<Piece> pieces_;
};

}  // namespace ramet
