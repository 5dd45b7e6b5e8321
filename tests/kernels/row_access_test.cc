// How the lanes of a GPU's warp share rows: every byte is moved once, and by how many requests.
#include "kernels/cuda/row_access.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace ramet {
namespace {

// What count_requests() says, lane by lane: the lines and sectors that each group of lanes names
// which together read up to 128 bytes.
RowRequests requests_by_lane(const RowAccess& access, uint64_t row, int64_t row_bytes) {
  const int64_t units = row_bytes / access.unit;
  const int together = std::min(access.lanes, std::max(1, kLineBytes / access.unit));
  RowRequests count;
  for (int64_t step = 0; step * access.lanes < units + access.lanes; ++step) {
    for (int lead = 0; lead < access.lanes; lead += together) {
      std::set<uint64_t> lines, sectors;
      for (int lane = lead; lane < lead + together; ++lane) {
        const int64_t u = first_unit(access, row, lane) + step * access.lanes;
        if (u < 0 || u >= units) continue;
        const uint64_t at = row + static_cast<uint64_t>(u * access.unit);
        lines.insert(at / kLineBytes);
        sectors.insert(at / kSectorBytes);
      }
      count.lines += static_cast<int64_t>(lines.size());
      count.sectors += static_cast<int64_t>(sectors.size());
    }
  }
  return count;
}

// Lines per row, over rows that start wherever rows of this width do.
double mean_lines(int64_t row_bytes, const RowAccess& access) {
  int64_t lines = 0;
  for (int64_t i = 0; i < kLineBytes; ++i)
    lines += count_requests(access, static_cast<uint64_t>(i * row_bytes), row_bytes).lines;
  return static_cast<double>(lines) / kLineBytes;
}
double mean_lines(int64_t row_bytes, bool shift) {
  return mean_lines(row_bytes, row_access(0, 0, row_bytes, 16, shift));
}
// Of rows that are gathered in units of up to `max_unit` bytes.
double mean_lines_gathered(int64_t row_bytes, int max_unit) {
  return mean_lines(row_bytes, gather_access(0, 0, row_bytes, max_unit, true));
}

TEST_CASE("lanes move each unit of a row once, wherever it starts") {
  for (int64_t row_bytes = 1; row_bytes < 700; row_bytes += row_bytes < 300 ? 1 : 13) {
    for (uint64_t table = 0; table < 32; ++table) {
      const RowAccess access = row_access(table, 0, row_bytes, 16, true);
      CHECK(row_bytes % access.unit == 0);
      CHECK(access.lanes <= kWarpLanes);
      for (uint64_t i = 0; i < 3; ++i) {
        const uint64_t row = table + i * static_cast<uint64_t>(row_bytes);
        CHECK(row % static_cast<uint64_t>(access.unit) == 0);
        std::vector<int> moved(static_cast<std::size_t>(row_bytes / access.unit));
        for (int lane = 0; lane < access.lanes; ++lane) {
          const int64_t first = first_unit(access, row, lane);
          CHECK(first > -access.lanes);
          for (int64_t u = first; u < int64_t(moved.size()); u += access.lanes) {
            if (u >= 0) ++moved[static_cast<std::size_t>(u)];
          }
        }
        CHECK(std::set<int>(moved.begin(), moved.end()) == std::set<int>{1});
      }
    }
  }
}

// Words of the memory, and of the output: what realigned_row.cuh does, as a loop.
TEST_CASE("lanes read each word of a row once, and pass on all of it, wherever both begin") {
  for (int64_t row_bytes = kLeastRealigned; row_bytes < 700;
       row_bytes += row_bytes < 160 ? 1 : 13) {
    for (uint64_t i = 0; i < 140; ++i) {
      const uint64_t row = 4096 + i * static_cast<uint64_t>(row_bytes);
      const RowAccess access = gather_access(4096 + i % 2, i % 4, row_bytes, 16, true);
      if (!access.realigns) continue;
      const auto before = static_cast<int64_t>(row % kWordBytes);
      const int64_t words = (before + row_bytes + kWordBytes - 1) / kWordBytes;
      std::vector<int> read(static_cast<std::size_t>(words + 1));
      for (int step = 0; step < access.steps; ++step)
        for (int lane = 0; lane < access.lanes; ++lane) {
          const int64_t word = first_unit(access, row, lane) + step * access.lanes;
          if (word >= 0 && word <= words) ++read[static_cast<std::size_t>(word)];
        }
      CHECK(std::set<int>(read.begin(), read.end()) == std::set<int>{1});
    }
  }
}

TEST_CASE("requests are counted as lanes make them") {
  for (const int64_t row_bytes : {1, 6, 25, 100, 128, 130, 132, 200, 400, 408, 602, 1200, 2408}) {
    for (const bool shift : {false, true}) {
      const RowAccess access = row_access(0, 0, row_bytes, 16, shift);
      for (uint64_t i = 0; i < 128; ++i) {
        const uint64_t row = i * static_cast<uint64_t>(row_bytes);
        const RowRequests counted = count_requests(access, row, row_bytes);
        const RowRequests expected = requests_by_lane(access, row, row_bytes);
        CHECK(counted.lines == expected.lines);
        CHECK(counted.sectors == expected.sectors);
      }
    }
  }
}

TEST_CASE("shifted lanes ask for each line of a row once") {
  for (const int64_t row_bytes : {4, 100, 132, 400, 408, 1200, 2408, 4096}) {
    const RowAccess access = row_access(0, 0, row_bytes, 16, true);
    for (int64_t i = 0; i < 128; ++i) {
      const int64_t begin = i * row_bytes, last = begin + row_bytes - 1;
      CHECK(count_requests(access, static_cast<uint64_t>(begin), row_bytes).lines ==
            last / kLineBytes - begin / kLineBytes + 1);
    }
  }
}

TEST_CASE("the shift spares 40 to 46 % of the requests for rows of 100, 300 and 602 floats") {
  CHECK(mean_lines(400, false) == doctest::Approx(6.625));
  CHECK(mean_lines(400, true) == doctest::Approx(4.0));
  const auto spared = [](int64_t floats) {
    return 1 - mean_lines(4 * floats, true) / mean_lines(4 * floats, false);
  };
  CHECK(spared(100) == doctest::Approx(0.396).epsilon(0.001));
  CHECK(spared(300) == doctest::Approx(0.434).epsilon(0.001));
  CHECK(spared(602) == doctest::Approx(0.461).epsilon(0.001));
  CHECK(spared(128) == 0);  // rows of whole lines need none
  CHECK(spared(25) == 0);   // nor do those of less than one
}

TEST_CASE("a gather of rows of odd widths asks for each of their lines once") {
  const auto lines_of_rows = [](int64_t row_bytes) {
    int64_t lines = 0;
    for (int64_t i = 0; i < kLineBytes; ++i)
      lines += (i * row_bytes + row_bytes - 1) / kLineBytes - i * row_bytes / kLineBytes + 1;
    return static_cast<double>(lines) / kLineBytes;
  };
  for (const int64_t row_bytes : {8, 25, 50, 101, 126, 127, 129, 301, 602, 2049})
    for (const int max_unit : {4, 8, 16})
      CHECK(mean_lines_gathered(row_bytes, max_unit) == lines_of_rows(row_bytes));
  CHECK(mean_lines(602, true) == doctest::Approx(10.4).epsilon(0.005));
  CHECK(mean_lines_gathered(602, 4) == doctest::Approx(5.69).epsilon(0.005));
  CHECK(mean_lines(301, true) == doctest::Approx(10.4).epsilon(0.005));
  CHECK(mean_lines_gathered(301, 4) == doctest::Approx(3.34).epsilon(0.005));
}

}  // namespace
}  // namespace ramet
