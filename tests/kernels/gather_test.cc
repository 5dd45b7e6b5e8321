// The gathers of every instruction set against a copy of row after row. tests/CMakeLists.txt runs
// this file once for each set.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "kernels/kernels.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "ramet/table.h"
#include "support/ids.h"

using namespace ramet;

namespace {

constexpr char kGuard = 0x5A;
constexpr int64_t kGuardBytes = 192;  // before and behind the output: whole lines, and more
constexpr int64_t kRows = 23;

// Outputs that say they are a part of so many bytes get ordinary stores or streaming stores.
constexpr int64_t kSmall = 0, kHuge = int64_t{1} << 40;

std::vector<int64_t> widths() {
  std::vector<int64_t> all;
  for (int64_t width = 1; width <= 257; ++width)
    all.push_back(width);
  for (const int64_t width : {400, 512, 602 * 4, 4096})
    all.push_back(width);
  return all;
}

std::vector<char> random_bytes(int64_t count) {
  std::vector<char> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<char>(mix64(i));
  return bytes;
}

// An output at a chosen distance from a line, between guards.
struct Output {
  Output(int64_t bytes, int64_t misaligned)
      : memory(static_cast<size_t>(bytes + 2 * kGuardBytes + 128), kGuard) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    begin = kGuardBytes + static_cast<int64_t>((64 - address % 64) % 64) + misaligned;
  }
  char* data() { return memory.data() + begin; }

  std::vector<char> memory;
  int64_t begin;
};

// What a gather returns, and whether it wrote the rows before the first bad id and nothing else.
struct Gathered {
  int64_t result;
  bool exact;
};

Gathered gather(const std::vector<char>& table,
                int64_t width,
                const std::vector<int64_t>& ids,
                int64_t misaligned,
                int64_t output_bytes,
                int64_t gap = 0) {
  const int64_t stride = width + gap;
  Output out(static_cast<int64_t>(ids.size()) * width, misaligned);
  Output twin = out;
  for (size_t i = 0; i < ids.size() && ids[i] >= 0 && ids[i] < kRows; ++i)
    std::memcpy(twin.data() + static_cast<int64_t>(i) * width, table.data() + ids[i] * stride,
                static_cast<size_t>(width));
  Gathered gathered{};
  gathered.result = cpu_kernels()->gather_rows({.table = table.data(),
                                                .num_rows = kRows,
                                                .row_bytes = width,
                                                .row_stride = stride,
                                                .ids = ids.data(),
                                                .num_ids = static_cast<int64_t>(ids.size()),
                                                .out = out.data(),
                                                .output_bytes = output_bytes});
  gathered.exact = out.memory == twin.memory;
  return gathered;
}

}  // namespace

TEST_CASE("every width at every position in a line, with both kinds of stores, to the byte") {
  const std::vector<int64_t> ids = test::drawn_ids(41, kRows);
  for (const int64_t width : widths()) {
    const std::vector<char> table = random_bytes(kRows * width);
    for (const int64_t misaligned : {0, 1, 2, 4, 8, 31, 32, 63}) {
      for (const int64_t output_bytes : {kSmall, kHuge}) {
        CAPTURE(width);
        CAPTURE(misaligned);
        CAPTURE(output_bytes);
        const Gathered all = gather(table, width, ids, misaligned, output_bytes);
        REQUIRE(all.result == -1);
        REQUIRE(all.exact);
      }
    }
  }
}

TEST_CASE("rows at a distance, the last of which ends with its bytes") {
  const std::vector<int64_t> ids = test::drawn_ids(41, kRows);
  for (const int64_t width : widths()) {
    for (const int64_t gap : {int64_t{1}, int64_t{4}, int64_t{64}, 2 * width, -width}) {
      const std::vector<char> table = random_bytes((kRows - 1) * (width + gap) + width);
      for (const int64_t output_bytes : {kSmall, kHuge}) {
        CAPTURE(width);
        CAPTURE(gap);
        const Gathered all = gather(table, width, ids, 4, output_bytes, gap);
        REQUIRE(all.result == -1);
        REQUIRE(all.exact);
      }
    }
  }
}

TEST_CASE("few rows, down to none") {
  for (const int64_t width : {1, 16, 63, 64, 65, 200, 4096}) {
    const std::vector<char> table = random_bytes(kRows * width);
    for (int64_t count = 0; count < 5; ++count) {
      for (const int64_t misaligned : {0, 5, 60}) {
        const Gathered all = gather(table, width, test::drawn_ids(count, kRows), misaligned, kHuge);
        CHECK(all.result == -1);
        CHECK(all.exact);
      }
    }
  }
}

TEST_CASE("a bad id stops the gather where it stands, and the rows before it are written") {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  for (const int64_t width : {1, 8, 64, 100, 200, 257, 512}) {
    const std::vector<char> table = random_bytes(kRows * width);
    // The row that would end where addresses do.
    const auto below = static_cast<int64_t>(reinterpret_cast<uint64_t>(table.data()) /
                                            static_cast<uint64_t>(width));
    for (const int64_t bad : {int64_t{-1}, kRows, kLowest, kHighest, -below, -below - 1}) {
      for (const size_t position : {0, 1, 20, 39, 40}) {
        for (const int64_t output_bytes : {kSmall, kHuge}) {
          std::vector<int64_t> ids = test::drawn_ids(41, kRows);
          ids[position] = bad;
          const Gathered some = gather(table, width, ids, 12, output_bytes);
          CHECK(some.result == static_cast<int64_t>(position));
          CHECK(some.exact);
        }
      }
    }
  }
}

TEST_CASE("rows of no bytes are gathered, and their ids are checked") {
  const std::vector<char> table(1);
  CHECK(gather(table, 0, {1, 2}, 0, kHuge).exact);
  CHECK(gather(table, 0, {1, kRows}, 0, kHuge).result == 1);
}

TEST_CASE("outputs within the caches and beyond are the same on 1, 2 and 3 threads") {
  constexpr int64_t kWidth = 1204;
  std::vector<char> bytes = random_bytes(kRows * kWidth);
  const Table table({bytes.data(), DType::kInt8, {kRows, kWidth}, nullptr, false});
  for (const int64_t count : {1000, 30'000}) {  // 1 and 36 MB
    const std::vector<int64_t> ids = test::drawn_ids(count, kRows);
    std::vector<char> twin(static_cast<size_t>(count * kWidth));
    for (size_t i = 0; i < ids.size(); ++i)
      std::memcpy(&twin[i * kWidth], &bytes[static_cast<size_t>(ids[i]) * kWidth], kWidth);
    for (const int threads : {1, 2, 3}) {
      const Array out = table.gather(ids, threads);
      REQUIRE(out.shape == std::vector<int64_t>{count, kWidth});
      CHECK(std::memcmp(out.data, twin.data(), twin.size()) == 0);
    }
  }
}
