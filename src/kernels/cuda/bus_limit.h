// How many multiprocessors keep the bus to host memory busy. More would read no faster, and wait
// where training could run.
//
// A bus carries its rate if rate x latency bytes are on their way: 64 GB/s x 2.5 us = 160 KB for
// PCIe 5 x16. A slower bus needs less. Rows that are read decide how much a multiprocessor has on
// its way: a lane has kLoadsInFlight loads, of as many bytes as its row lets it read at once. So
// rows of 128 floats take 3 multiprocessors, of 100 floats 4, and of 25 floats 10.
//
// A limit counts blocks of kLimitedThreads threads, of which no multiprocessor gets a second one
// while another has none: as many blocks are as many multiprocessors. Blocks of fewer threads would
// spread over more of them, and keep each from the large blocks of matrix products.
//
// Plain C++, for kernels and for tests without a GPU.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/row_access.h"

namespace ramet {

inline constexpr int64_t kBusBytesInFlight = 160'000;
inline constexpr int kLimitedThreads = 1024;
inline constexpr int kLoadsInFlight = 4;  // of a lane, before its first store waits for one

// Narrow rows are moved several at a time; the loads in flight of wide ones are steps of one row.
// Four rows that are realigned would need more registers than a thread has.
constexpr int rows_at_once(const RowAccess& access) {
  if (access.steps <= 1 && !access.realigns) return kLoadsInFlight;
  return access.steps <= 2 ? kLoadsInFlight / 2 : 1;
}

// Bytes of rows that a block of kLimitedThreads has on their way. The bus carries
// whole sectors.
constexpr int64_t bytes_in_flight(const RowAccess& access, int64_t row_bytes) {
  const int64_t bytes = (row_bytes + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
  const int64_t passes = (access.steps + kLoadsInFlight - 1) / kLoadsInFlight;
  return kLimitedThreads / access.lanes * rows_at_once(access) * bytes /
         std::max<int64_t>(passes, 1);
}

constexpr int sms_for_bus(const RowAccess& access, int64_t row_bytes) {
  const int64_t of_block = bytes_in_flight(access, row_bytes);
  return static_cast<int>((kBusBytesInFlight + of_block - 1) / std::max<int64_t>(of_block, 1));
}

}  // namespace ramet
