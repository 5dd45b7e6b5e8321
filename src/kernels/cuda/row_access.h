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
inline constexpr int kWordBytes = 4;
inline constexpr int64_t kLeastRealigned = 8;  // bytes of a row; shorter ones are one request as is

struct RowAccess {
  int unit;    // bytes that a lane reads at once: 16, 8, 4, 2 or 1
  int lanes;   // that share a row: a power of two, 32 at most
  int window;  // lane 0 begins at a multiple of this many bytes; `unit` where nothing is shifted
  int steps;   // in which the lanes move a row, wherever it begins
  // Units are the words of the memory that hold the row, and not the row's own: see
  // gather_access().
  bool realigns = false;
};

// How lanes share `units` units, of rows that begin at multiples of the lowest bit of `starts`.
constexpr RowAccess share_units(int unit, int64_t units, uint64_t starts, bool shift) {
  const int request = kLineBytes < kWarpLanes * unit ? kLineBytes : kWarpLanes * unit;
  // Units within one request ask for no line twice.
  const bool shifts =
      shift && units * unit > request && starts % static_cast<uint64_t>(request) != 0;
  const int64_t ahead = shifts ? (request - (1 << std::countr_zero(starts))) / unit : 0;
  const int64_t needed = units + ahead;  // lanes, for a single step
  const int lanes =
      needed >= kWarpLanes ? kWarpLanes : static_cast<int>(std::bit_ceil(uint64_t(needed)));
  const auto steps = static_cast<int>((needed + lanes - 1) / lanes);
  return {unit, lanes, shifts ? request : unit, steps};
}

// Rows of `row_bytes` bytes from `table` on, moved to or from `other`, whose rows lie one behind
// the other as well, in units of at most `max_unit` bytes.
constexpr RowAccess row_access(
    uint64_t table, uint64_t other, int64_t row_bytes, int max_unit, bool shift) {
  const uint64_t starts = table | static_cast<uint64_t>(row_bytes);  // its low zeros: all rows'
  const uint64_t common = starts | other | static_cast<uint64_t>(max_unit);
  const int unit = 1 << std::countr_zero(common);
  return share_units(unit, row_bytes / unit, starts, shift);
}

// The same for a gather, where units of less than a word would make a request smaller than a line:
// rows of 602 or 301 int8, say. There lanes read aligned words, and make those of the output out of
// two neighbors each (realigned_row.cuh), so that each line is still asked for once.
constexpr RowAccess gather_access(
    uint64_t table, uint64_t out, int64_t row_bytes, int max_unit, bool shift) {
  const RowAccess access = row_access(table, out, row_bytes, max_unit, shift);
  if (access.unit >= kWordBytes || row_bytes < kLeastRealigned) return access;
  // A row that begins and ends inside of words, and one more, since a word of the output may need
  // the last one and the nothing behind it.
  const int64_t words = (row_bytes + 2 * (kWordBytes - 1)) / kWordBytes + 1;
  RowAccess realigned =
      share_units(kWordBytes, words, table | static_cast<uint64_t>(row_bytes), shift);
  realigned.realigns = true;
  return realigned;
}

// The unit of the row at `row` that a lane begins with, negative ahead of the row; its next ones
// are access.lanes further on. Unit 0 has the row's first byte.
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
