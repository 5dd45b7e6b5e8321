// Files whose rows say which they are, and every way in which a reader may read them.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ids.h"
#include "ramet/random.h"
#include "ramet/row_reader.h"
#include "temp_dir.h"

namespace ramet::test {

using ReadMethod = RowReaderOptions::Method;

struct ReadKind {
  ReadMethod method;
  bool direct;
};

// All that this machine can do; threads, which it always can, last.
inline std::vector<ReadKind> read_kinds() {
  std::vector<ReadKind> kinds;
  const std::string problem = io_uring_problem();
  if (problem.empty()) {
    kinds = {{ReadMethod::kIoUring, true}, {ReadMethod::kIoUring, false}};
  } else {
    MESSAGE("io_uring is not tested: ", problem);
  }
  kinds.insert(kinds.end(), {{ReadMethod::kThreads, true}, {ReadMethod::kThreads, false}});
  return kinds;
}

// With given costs, so that nothing is measured.
inline RowReaderOptions options_of(const ReadKind& kind, double request_seconds = 10e-6) {
  return {.method = kind.method,
          .direct = kind.direct,
          .depth = 16,
          .request_seconds = request_seconds,
          .byte_seconds = 1e-9};
}

inline std::string marked_row(int64_t id, int64_t row_bytes) {
  std::string row(static_cast<size_t>(row_bytes), '\0');
  for (size_t i = 0; i < row.size(); i += 8) {
    const uint64_t word = absorb(static_cast<uint64_t>(id), i);
    std::memcpy(row.data() + i, &word, std::min<size_t>(8, row.size() - i));
  }
  return row;
}

// A file of rows [first, first + count), from the byte `offset` on.
inline RowSpan write_marked(
    const std::string& path, int64_t row_bytes, int64_t first, int64_t count, int64_t offset) {
  std::string bytes(static_cast<size_t>(offset), 'x');
  for (int64_t id = first; id < first + count; ++id)
    bytes += marked_row(id, row_bytes);
  write_file(path, bytes);
  return {path, offset, count, first};
}

// Reads `ids`, and checks every byte.
inline ReadCounts check_rows(RowReader& reader,
                             const std::vector<int64_t>& ids,
                             int64_t row_bytes) {
  std::string out(ids.size() * static_cast<size_t>(row_bytes), '?');
  const ReadCounts counts = reader.submit(ids, out.data())->complete();
  for (size_t i = 0; i < ids.size(); ++i) {
    const size_t at = i * static_cast<size_t>(row_bytes);
    REQUIRE(out.substr(at, static_cast<size_t>(row_bytes)) == marked_row(ids[i], row_bytes));
  }
  return counts;
}

}  // namespace ramet::test
