// How the lanes of a warp share a row: which bytes each of them moves in which step.
//
// A GPU reads in lines of 128 bytes, and rows of, say, 400 bytes start anywhere in a line. Were
// lane 0 to begin where the row does, nearly every request of a warp would straddle two lines and
// become two, and over PCIe a request costs what a line does. So lanes are shifted: lane 0 begins
// at the line in which the row does, and every later request at a line. This is the circular shift
// of PyTorch-Direct (Min, Wu, Huang, Hidayetoglu, Xiong, Ebrahimi, Chen, Hwu: Large Graph
// Convolutional Network Training with GPU-Oriented Data Communication Architecture, VLDB 2021), but
// that lanes ahead of the row sit out the first step instead of wrapping around to the row's end:
// each line is asked for once, the least there can be. It spares 40, 43 and 46 % of the requests
// for rows of 100, 300 and 602 floats.
//
// Plain C++, for kernels and for who counts requests without a GPU.
#pragma once

#include <bit>
#include <cstdint>

namespace ramet {

inline constexpr int kLineBytes = 128;
inline constexpr int kSectorBytes = 32;  // the least that is read
inline constexpr int kWarpLanes = 32;

struct RowAccess {
  int unit;    // bytes that a lane reads at once: 16, 8, 4, 2 or 1
  int lanes;   // that share a row: a power of two, 32 at most
  int window;  // lane 0 begins at a multiple of this many bytes; `unit` where nothing is shifted
};

// Rows of `row_bytes` bytes from `table` on, moved to or from `other`, whose rows lie one behind
// the other as well, in units of at most `max_unit` bytes.
constexpr RowAccess row_access(
    uint64_t table, uint64_t other, int64_t row_bytes, int max_unit, bool shift) {
  const uint64_t starts = table | static_cast<uint64_t>(row_bytes);  // its low zeros: all rows'
  const uint64_t common = starts | other | static_cast<uint64_t>(max_unit);
  const int unit = 1 << std::countr_zero(common);
  const int request = kLineBytes < kWarpLanes * unit ? kLineBytes : kWarpLanes * unit;
  // A row within one request asks for no line twice.
  const bool shifts = shift && row_bytes > request && starts % static_cast<uint64_t>(request) != 0;
  const int64_t ahead = shifts ? (request - (1 << std::countr_zero(starts))) / unit : 0;
  const int64_t needed = row_bytes / unit + ahead;  // lanes, for a single step
  const int lanes =
      needed >= kWarpLanes ? kWarpLanes : static_cast<int>(std::bit_ceil(uint64_t(needed)));
  return {unit, lanes, shifts ? request : unit};
}

// The unit of the row at `row` that a lane begins with, negative ahead of the row; its next ones
// are access.lanes further on.
constexpr int64_t first_unit(const RowAccess& access, uint64_t row, int lane) {
  const auto into_window = static_cast<int>(row & static_cast<uint64_t>(access.window - 1));
  return lane - into_window / access.unit;
}

// What the memory is asked for: lines and sectors, as often as a request names them.
struct RowRequests {
  int64_t lines = 0;
  int64_t sectors = 0;
};

// Of the row at `row`. The hardware asks for up to 128 bytes at a time, of as many lanes as that
// takes.
constexpr RowRequests count_requests(const RowAccess& access, uint64_t row, int64_t row_bytes) {
  const auto step = static_cast<uint64_t>(access.lanes * access.unit);
  const uint64_t request = step < kLineBytes ? step : kLineBytes;
  const uint64_t end = row + static_cast<uint64_t>(row_bytes);
  const auto touched = [](uint64_t from, uint64_t to, uint64_t size) {
    return static_cast<int64_t>((to - 1) / size - from / size + 1);
  };
  RowRequests count;
  for (uint64_t at = row / access.window * access.window; at < end; at += request) {
    const uint64_t from = at > row ? at : row, to = at + request < end ? at + request : end;
    if (from >= to) continue;
    count.lines += touched(from, to, kLineBytes);
    count.sectors += touched(from, to, kSectorBytes);
  }
  return count;
}

}  // namespace ramet
