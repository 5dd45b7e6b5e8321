// What a request and a byte cost, of the files and workers at hand.
#pragma once

#include <span>
#include <string>

#include "read_files.h"
#include "read_queue.h"

namespace ramet {

struct ReadCosts {
  double request_seconds = 10e-6, byte_seconds = 1e-9;  // of a usual disk
  std::string problem = {};                             // why they are not this disk's, or ""
};

// Reads blocks at random, then `most_bytes` at a time, for about 15 ms each; longer where the disk
// takes longer for some hundred blocks. What it cannot measure, since the files are too small or
// fail, stays as usual, and `problem` says why. So it does where the files lie in memory, or the
// page cache may hold them.
[[nodiscard]] ReadCosts measure_read_costs(ReadQueue& queue,
                                           std::span<const RowSpan> spans,
                                           int64_t row_bytes,
                                           const ReadFiles& files,
                                           int64_t most_bytes);

}  // namespace ramet
