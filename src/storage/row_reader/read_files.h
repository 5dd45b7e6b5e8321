// The files of a reader, opened as their file systems allow.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/system/posix.h"
#include "ramet/row_reader.h"

namespace ramet {

struct ReadFiles {
  std::vector<Fd> files;  // of each span
  bool direct = false;    // past the page cache
  int64_t block = 1;      // offsets and sizes of requests are its multiples

  // Whether a file ends after so many bytes of a request: a disk gives whole blocks before.
  [[nodiscard]] bool is_end(int64_t bytes) const { return bytes % block != 0; }
};

// kNotFound, kIo; kCorrupt where a file is not regular, another than its span says, or too short.
[[nodiscard]] ReadFiles open_to_read_rows(std::span<const RowSpan> spans,
                                          int64_t row_bytes,
                                          bool direct);

}  // namespace ramet
