// RowWriter: rows of one width written into a file, many requests at once, those side by side in
// one.
//
// Requests go to the kernel by io_uring. Where that is refused, a call starts threads that write,
// more of them than cores, since a request waits for the disk; and waits for them. So do the calls
// after one in which io_uring has failed.
//
// Threads: one call at a time. Forks: not for a child.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/system/posix.h"
#include "ramet/row_reader.h"
#include "row_reader/write_ring.h"

namespace ramet {

// Copies row i of those that are written to `to`. Called once for each, by any thread.
using PackRow = std::function<void(size_t i, std::byte* to)>;

class RowWriter {
 public:
  // `file`: open for writing, with O_DIRECT only if rows are whole blocks. `location`: how errors
  // name it.
  RowWriter(Fd file, int64_t row_bytes, std::string location, bool io_uring);

  // Writes rows at the positions numbers[i], which ascend. Returns when all are written. kIo and
  // kNoSpace name bytes and location; some of the rows may be written then.
  ReadCounts write(std::span<const int64_t> numbers, const PackRow& pack);
  // Until what was written is on the disk. kIo.
  void sync() const { sync_to_disk(file_.get(), location_); }

 private:
  Fd file_;
  int64_t row_bytes_;
  std::string location_;
  std::unique_ptr<WriteRing> ring_;  // nullptr: threads write
};

}  // namespace ramet
