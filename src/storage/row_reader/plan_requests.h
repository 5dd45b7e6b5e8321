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

enum class RequestKind : uint8_t { kUsual, kAlone, kWide };

struct ReadRequest {
  size_t span;           // of which file
  int64_t offset, size;  // multiples of a block
  int64_t needed;        // up to the end of its last row: the file may end before `size`
  size_t first_copy, end_copy;
  RequestKind kind = RequestKind::kUsual;
};

// So many requests, the next ones, are for one row each, then so many through wide gaps. Large ones
// count for several.
struct ReadTrial {
  int64_t alone = 0, wide = 0;
};

struct ReadPlan {
  std::vector<ReadRequest> requests;
  std::vector<RowCopy> copies;
  ReadCounts counts;
  ReadTrial trial_left;
};

struct PlanOptions {
  int64_t row_bytes = 0;
  int64_t block = 1;       // where requests begin and end: at its multiples
  int64_t most_bytes = 0;  // of a request, but for a row that is wider
  double request_seconds = 0, byte_seconds = 0;
  ReadTrial trial = {};
};

// What is tried where gaps of so many bytes are read through.
[[nodiscard]] double wide_gap(double bytes);

// The bytes of a request for one row are at most these.
[[nodiscard]] int64_t most_bytes_of_row(int64_t row_bytes, int64_t block);

// kOutOfRange names the first id that is in no span.
[[nodiscard]] ReadPlan plan_requests(std::span<const RowSpan> spans,
                                     std::span<const int64_t> ids,
                                     const PlanOptions& options);

}  // namespace ramet
