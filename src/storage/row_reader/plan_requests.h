// Which requests read given rows: sorted by position, those close together in one.
//
// A function of its arguments alone; opens nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ramet/row_reader.h"

namespace ramet {

// Where a row is in what its request reads, and where it goes: to row `to` of the output.
struct RowCopy {
  int64_t at, to;
};

struct ReadRequest {
  size_t span;           // of which file
  int64_t offset, size;  // multiples of a block
  int64_t needed;        // up to the end of its last row: the file may end before `size`
  size_t first_copy, end_copy;
};

struct ReadPlan {
  std::vector<ReadRequest> requests;
  std::vector<RowCopy> copies;
  ReadCounts counts;
};

struct PlanOptions {
  int64_t row_bytes = 0;
  int64_t block = 1;       // where requests begin and end: at its multiples
  int64_t most_bytes = 0;  // of a request, but for a row that is wider
  double request_seconds = 0, byte_seconds = 0;
};

// The bytes of a request for one row are at most these.
[[nodiscard]] int64_t most_bytes_of_row(int64_t row_bytes, int64_t block);

// kOutOfRange names the first id that is in no span.
[[nodiscard]] ReadPlan plan_requests(std::span<const RowSpan> spans,
                                     std::span<const int64_t> ids,
                                     const PlanOptions& options);

}  // namespace ramet
