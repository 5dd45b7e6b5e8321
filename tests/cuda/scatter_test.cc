// The scatter kernel against a loop.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"

namespace ramet {
namespace {

// In the order of positions, so that the last of an id stays.
std::vector<uint8_t> scattered(std::vector<uint8_t> table,
                               int64_t num_rows,
                               int64_t row_bytes,
                               const std::vector<int64_t>& ids,
                               const std::vector<uint8_t>& rows) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= num_rows) continue;
    std::copy_n(rows.begin() + long(i) * row_bytes, row_bytes, table.begin() + ids[i] * row_bytes);
  }
  return table;
}

struct Case {
  int64_t row_bytes;
  int64_t num_rows;
  std::vector<int64_t> ids;
  bool wide = true;
  size_t table_offset = 0, rows_offset = 0;
};

uint64_t check_scatter(const Case& c) {
  CAPTURE(c.row_bytes);
  const auto table = noise(size_t(c.num_rows * c.row_bytes));
  const auto rows = noise(c.ids.size() * size_t(c.row_bytes), 5);
  const DeviceBytes on_device(table, c.table_offset), row_bytes(rows, c.rows_offset),
      wide_ids(c.ids), narrow_ids(std::vector<int32_t>(c.ids.begin(), c.ids.end())),
      bad(std::vector<uint64_t>{kNoBadId}),
      scratch(size_t(scatter_scratch_bytes(int64_t(c.ids.size()))));
  require_cuda().rows.scatter(0,
                              {.table = on_device.get(),
                               .num_rows = c.num_rows,
                               .row_bytes = c.row_bytes,
                               .ids = c.wide ? wide_ids.get() : narrow_ids.get(),
                               .wide_ids = c.wide,
                               .num_ids = int64_t(c.ids.size()),
                               .rows = row_bytes.get(),
                               .scratch = scratch.get(),
                               .bad = bad.as<uint64_t>()},
                              nullptr);
  CHECK(on_device.read<uint8_t>() == scattered(table, c.num_rows, c.row_bytes, c.ids, rows));
  return bad.read<uint64_t>()[0];
}

TEST_CASE("rows of every width are written where their ids say") {
  for (const int64_t row_bytes : {1, 2, 3, 4, 6, 8, 12, 16, 25, 100, 130, 400, 408, 1200})
    for (const bool wide : {true, false})
      CHECK(check_scatter({row_bytes, 50, some_ids(40, 50), wide}) == kNoBadId);
  for (size_t offset = 0; offset < 16; ++offset)
    check_scatter({.row_bytes = 144,
                   .num_rows = 9,
                   .ids = {1, 8, 0, 3},
                   .table_offset = offset,
                   .rows_offset = 16 - offset});
}

TEST_CASE("where an id repeats, the last row wins") {
  std::vector<int64_t> ids(3000, 4);
  check_scatter({.row_bytes = 8, .num_rows = 10, .ids = ids});
  check_scatter({.row_bytes = 36, .num_rows = 17, .ids = some_ids(2000, 17)});
  check_scatter({.row_bytes = 4, .num_rows = 2, .ids = {1, 0, 1, 0, 1, 1, 0}});
  // Ids that meet in the same slots of the scratch.
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = int64_t(i % 7) << 16;
  check_scatter({.row_bytes = 1, .num_rows = 7 << 16, .ids = ids});
}

TEST_CASE("bad ids write nothing, and the first of them is told") {
  CHECK(check_scatter({.row_bytes = 12, .num_rows = 5, .ids = {4, -1, 5, 4, INT64_MIN, 0}}) == 1);
  CHECK(check_scatter({.row_bytes = 12, .num_rows = 5, .ids = {0, 1, 99}}) == 2);
  CHECK(check_scatter({.row_bytes = 0, .num_rows = 5, .ids = {0, 7}}) == 1);
}

TEST_CASE("no ids write nothing") {
  CHECK(check_scatter({.row_bytes = 12, .num_rows = 5, .ids = {}}) == kNoBadId);
}

}  // namespace
}  // namespace ramet
