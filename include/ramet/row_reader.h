// RowReader: rows of files by row id, read by requests, not by page faults. For tables larger than
// memory: a page fault waits for the disk, but many requests run at once, and each reads only the
// blocks of its rows.
//
// Requests go to the kernel by io_uring, past the page cache (O_DIRECT). If io_uring is refused,
// threads read; if O_DIRECT is refused, rows come through the page cache, without read-ahead. Rows
// close to each other are one request.
//
// Memory: a reader holds a descriptor per file, and memory_bytes(). It keeps reading the files that
// it opened after they are replaced. Arguments of submit() stay the caller's. Threads: any, several
// at once; a reader has threads of its own. Forks: a child's reader starts its own threads; reads
// that the parent submitted are refused there. Failure: the first error of a read is thrown when it
// is completed, and names file, row and byte; the reader goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ramet/array.h"
#include "ramet/error.h"

namespace ramet {

// Rows of one file, one after the other, of a table that may have several.
struct RowSpan {
  std::string path;
  int64_t offset = 0;  // of the first row, in bytes
  int64_t num_rows = 0;
  int64_t first_row = 0;                         // the id of the first row
  std::pair<uint64_t, uint64_t> identity{0, 0};  // device and inode; zeros: whatever is at the path
};

// The files that `rows` are mapped from, as the kernel says, in the order of row ids. Ids without a
// file are left out: those between the parts of a table. Takes less than a millisecond a file.
// kInvalidArgument if rows are in memory alone, or can be written; kNotFound if a file is gone, or
// another is at its path.
[[nodiscard]] std::vector<RowSpan> files_of(const Array& rows);

struct RowReaderOptions {
  enum class Method : uint8_t { kAuto, kIoUring, kThreads };

  Method method = Method::kAuto;  // io_uring, where the kernel allows it
  bool direct = true;             // past the page cache, where the file system allows it
  int depth = 128;                // requests under way at once
  // What a request and a byte cost: between two rows, bytes that cost less than another request are
  // read, too. Zero seconds a request: every row is a request. Negative: measured when the reader
  // is opened, in about 30 ms, and learned again while it reads.
  double request_seconds = -1, byte_seconds = -1;
};

// What was read: distinct rows, requests, and their bytes.
struct ReadCounts {
  int64_t rows = 0, requests = 0, bytes = 0;

  ReadCounts& operator+=(const ReadCounts& other);
  bool operator==(const ReadCounts&) const = default;
};

// A row that could not be read; the message names it, too.
class RowReadError : public Error {
 public:
  RowReadError(const Error& error, int64_t row) : Error(error), row_(row) {}
  [[nodiscard]] int64_t row() const { return row_; }

 private:
  int64_t row_;
};

// Rows on their way. Destroying it before it is complete drops requests that have not begun, and
// waits for the others.
class PendingRows {
 public:
  PendingRows() = default;
  PendingRows(const PendingRows&) = delete;
  PendingRows& operator=(const PendingRows&) = delete;
  virtual ~PendingRows() = default;

  // Waits for the rows. Throws the first error, in the order of files and bytes: a RowReadError, of
  // kCorrupt if a file ends before a row does, or kIo; and kInvalidArgument in a process forked
  // since.
  virtual ReadCounts complete() = 0;
};

// Why this process cannot use io_uring, or "".
[[nodiscard]] std::string io_uring_problem();

class RowReader {
 public:
  // `spans`: in the order of row ids, no id twice. `row_bytes`: of a row. kNotFound, kIo, and
  // kCorrupt if a file has fewer rows or is not the one that a span names; kIo if Method::kIoUring
  // is refused.
  [[nodiscard]] static std::shared_ptr<RowReader> open(std::vector<RowSpan> spans,
                                                       int64_t row_bytes,
                                                       const RowReaderOptions& options = {});
  RowReader() = default;
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;
  virtual ~RowReader() = default;

  // Starts to read row ids[i] to the row_bytes bytes at out + i * row_bytes. Ids may be in any
  // order, and repeat. They are read here; `out` must stay until the rows are complete. The rows
  // come without further calls. kOutOfRange names an id that is in no span.
  [[nodiscard]] virtual std::unique_ptr<PendingRows> submit(std::span<const int64_t> ids,
                                                            void* out) = 0;
  // The counts of complete() for these rows by the costs so far, but for requests that try costs.
  // Reads nothing. kOutOfRange as submit().
  [[nodiscard]] virtual ReadCounts plan(std::span<const int64_t> ids) const = 0;

  [[nodiscard]] virtual int64_t row_bytes() const = 0;
  // "io_uring, direct, blocks of 512 bytes".
  [[nodiscard]] virtual std::string how() const = 0;
  // As given, or as learned so far.
  [[nodiscard]] virtual double request_seconds() const = 0;
  [[nodiscard]] virtual double byte_seconds() const = 0;
  // The reason why the measured costs are not a disk's, such as "... lies in memory"; or "".
  [[nodiscard]] virtual std::string costs_problem() const = 0;
  // Single rows at random, by these costs.
  [[nodiscard]] virtual double rows_per_second() const = 0;
  // The most memory that it uses, beside its callers' arguments.
  [[nodiscard]] virtual int64_t memory_bytes() const = 0;
};

}  // namespace ramet
