// The gather kernels against the CPU's, bit for bit.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"
#include "kernels/kernels.h"

namespace ramet {
namespace {

constexpr int64_t kGatheredRows = 37;

struct Layout {
  int64_t row_bytes;
  size_t table_offset = 0, out_offset = 0;
  bool shift = true, wide = true;
  int max_sms = kEnoughSms;
  bool on_host = false;
};

std::vector<uint8_t> gathered_on_cpu(const std::vector<uint8_t>& table,
                                     const std::vector<int64_t>& ids,
                                     int64_t row_bytes) {
  std::vector<uint8_t> out(ids.size() * size_t(row_bytes));
  CHECK(cpu_kernels()->gather_rows({.table = table.data(),
                                    .num_rows = kGatheredRows,
                                    .row_bytes = row_bytes,
                                    .row_stride = row_bytes,
                                    .ids = ids.data(),
                                    .num_ids = int64_t(ids.size()),
                                    .out = out.data()}) == -1);
  return out;
}

// Of int64 ids.
CudaGatherArgs gather_args(const DeviceBytes& table,
                           int64_t row_bytes,
                           const DeviceBytes& ids,
                           const DeviceBytes& out) {
  return {.table = table.get(),
          .num_rows = kGatheredRows,
          .row_bytes = row_bytes,
          .ids = ids.get(),
          .wide_ids = true,
          .num_ids = int64_t(ids.size() / 8),
          .out = out.get()};
}

void gather(const CudaGatherArgs& args) {
  require_cuda().rows.gather(0, args, nullptr);
}

void check_gathers(const Layout& layout) {
  CAPTURE(layout.row_bytes);
  CAPTURE(layout.table_offset);
  CAPTURE(layout.out_offset);
  const std::vector<uint8_t> table = noise(size_t(kGatheredRows * layout.row_bytes));
  const std::vector<int64_t> ids = some_ids(51, kGatheredRows);
  const std::vector<uint8_t> expected = gathered_on_cpu(table, ids, layout.row_bytes);
  const DeviceBytes on_device(table, layout.table_offset), wide_ids(ids),
      narrow_ids(std::vector<int32_t>(ids.begin(), ids.end()));
  const DeviceBytes out(expected.size(), layout.out_offset);
  CudaGatherArgs args = gather_args(on_device, layout.row_bytes, wide_ids, out);
  if (!layout.wide) args.ids = narrow_ids.get();
  args.wide_ids = layout.wide;
  args.on_host = layout.on_host;
  args.max_sms = layout.max_sms;
  args.shift = layout.shift;
  gather(args);
  CHECK(out.read<uint8_t>() == expected);
}

TEST_CASE("rows of every width are gathered as on the CPU") {
  for (int64_t row_bytes = 1; row_bytes <= 80; ++row_bytes)
    check_gathers({row_bytes});
  for (const int64_t row_bytes : {100, 101, 127, 128, 129, 130, 132, 144, 188, 301, 400, 408, 602,
                                  1023, 1200, 2408, 4096, 5001})
    for (const bool shift : {true, false})
      check_gathers({.row_bytes = row_bytes, .shift = shift, .wide = !shift});
}

TEST_CASE("tables and outputs may lie at any address") {
  for (const int64_t row_bytes : {9, 16, 100, 131, 144, 408, 602})
    for (size_t offset = 0; offset < 16; ++offset) {
      check_gathers({.row_bytes = row_bytes, .table_offset = offset});
      check_gathers({.row_bytes = row_bytes, .out_offset = offset});
      check_gathers({.row_bytes = row_bytes, .table_offset = offset * 4, .out_offset = offset});
    }
}

TEST_CASE("few multiprocessors gather all rows, too") {
  for (const int max_sms : {0, 1, 1000, kEnoughSms})
    for (const int64_t row_bytes : {4, 101, 400, 602, 4096})
      for (const bool on_host : {false, true})
        check_gathers({.row_bytes = row_bytes, .max_sms = max_sms, .on_host = on_host});
}

TEST_CASE("bad ids leave their rows alone, and the first of them is told") {
  const int64_t row_bytes = 100;
  const std::vector<uint8_t> table = noise(size_t(kGatheredRows * row_bytes));
  std::vector<int64_t> ids = some_ids(600, kGatheredRows);
  const std::vector<uint8_t> expected = gathered_on_cpu(table, ids, row_bytes);
  const std::vector<int64_t> bad = {-1, kGatheredRows, INT64_MAX, INT64_MIN, kGatheredRows + 5};
  for (size_t i = 0; i < bad.size(); ++i)
    ids[77 + 100 * i] = bad[i];
  const DeviceBytes on_device(table), id_bytes(ids), first_bad(std::vector<uint64_t>{kNoBadId});
  DeviceBytes out(expected.size());
  out.fill(0x5A);
  CudaGatherArgs args = gather_args(on_device, row_bytes, id_bytes, out);
  gather(args);
  args.bad = first_bad.as<uint64_t>();
  gather(args);
  CHECK(first_bad.read<uint64_t>()[0] == 77);
  const std::vector<uint8_t> result = out.read<uint8_t>();
  for (size_t i = 0; i < result.size(); ++i) {
    const size_t row = i / row_bytes;
    const bool is_bad = row >= 77 && (row - 77) % 100 == 0 && (row - 77) / 100 < bad.size();
    if (result[i] != (is_bad ? 0x5A : expected[i])) FAIL("byte " << i << " of row " << row);
  }
}

TEST_CASE("rows that the cache has come from it, and are counted") {
  for (const int64_t row_bytes : {132, 135, 602}) {
    const std::vector<uint8_t> table = noise(size_t(kGatheredRows * row_bytes)),
                               cached = noise(size_t(2 * row_bytes), 9);
    std::vector<int32_t> slots(kGatheredRows, -1);
    slots[5] = 1;
    slots[30] = 0;
    const std::vector<int64_t> ids = some_ids(1000, kGatheredRows);
    std::vector<uint8_t> expected = gathered_on_cpu(table, ids, row_bytes);
    uint64_t expected_hits = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int32_t slot = slots[size_t(ids[i])];
      if (slot < 0) continue;
      ++expected_hits;
      std::copy_n(cached.begin() + slot * row_bytes, row_bytes,
                  expected.begin() + long(i) * row_bytes);
    }
    const DeviceBytes on_device(table), id_bytes(ids), slot_bytes(slots), cached_bytes(cached),
        hits(std::vector<uint64_t>{10}), out(expected.size());
    CudaGatherArgs args = gather_args(on_device, row_bytes, id_bytes, out);
    args.cache = {
        .slot = slot_bytes.as<int32_t>(), .rows = cached_bytes.get(), .hits = hits.as<uint64_t>()};
    gather(args);
    CHECK(out.read<uint8_t>() == expected);
    CHECK(hits.read<uint64_t>()[0] == 10 + expected_hits);
  }
}

TEST_CASE("rows may become other rows of the output, in any order") {
  const int64_t row_bytes = 135;
  const std::vector<uint8_t> table = noise(size_t(kGatheredRows * row_bytes));
  const std::vector<int64_t> given = some_ids(600, kGatheredRows);
  const std::vector<uint8_t> expected = gathered_on_cpu(table, given, row_bytes);
  std::vector<int64_t> ids(given.size());
  std::vector<uint32_t> positions(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    positions[i] = uint32_t(i * 7 % given.size());  // 600 is no multiple of 7
    ids[i] = given[positions[i]];
  }
  ids[5] = kGatheredRows;
  const DeviceBytes on_device(table), id_bytes(ids), position_bytes(positions),
      out(expected.size()), bad(std::vector<uint64_t>{kNoBadId});
  CudaGatherArgs args = gather_args(on_device, row_bytes, id_bytes, out);
  args.positions = position_bytes.as<uint32_t>();
  args.bad = bad.as<uint64_t>();
  gather(args);
  CHECK(bad.read<uint64_t>()[0] == 35);
  std::vector<uint8_t> result = out.read<uint8_t>();
  std::copy_n(expected.begin() + 35 * row_bytes, row_bytes, result.begin() + 35 * row_bytes);
  CHECK(result == expected);
}

TEST_CASE("no ids and rows of no bytes are fine") {
  const DeviceBytes ids(std::vector<int64_t>{0, 99}), bad(std::vector<uint64_t>{kNoBadId});
  CudaGatherArgs args{.table = nullptr,
                      .num_rows = 1,
                      .row_bytes = 0,
                      .ids = ids.get(),
                      .wide_ids = true,
                      .num_ids = 2,
                      .out = nullptr,
                      .bad = bad.as<uint64_t>()};
  gather(args);
  CHECK(bad.read<uint64_t>()[0] == 1);
  args.num_ids = 0;
  gather(args);
}

struct Encoded {
  Encoding encoding;
  int64_t row_bytes;
  size_t table_offset = 0, out_offset = 0;  // the latter in floats
};

// Every 16-bit pattern occurs where `table` has 128 KiB: NaNs, infinities, subnormal numbers.
void check_decode(const Encoded& layout) {
  CAPTURE(int(layout.encoding));
  CAPTURE(layout.row_bytes);
  CAPTURE(layout.table_offset);
  const bool halves =
      layout.encoding == Encoding::kFloat16 || layout.encoding == Encoding::kBFloat16;
  const int64_t width = layout.row_bytes / (halves ? 2 : 1);
  const int64_t num_rows = (int64_t{128} << 10) / layout.row_bytes + 1;
  std::vector<uint8_t> table(size_t(num_rows * layout.row_bytes));
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = uint8_t(i % 2 == 0 ? i / 2 : i / 2 >> 8);
  std::vector<float> scales(size_t(std::max(num_rows, width)));
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = std::ldexp(1.0f + float(i % 31) / 37, int(i % 250) - 149);
  std::vector<int64_t> ids(static_cast<size_t>(num_rows));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = num_rows - 1 - int64_t(i);

  std::vector<float> expected(size_t(num_rows * width));
  CHECK(cpu_kernels()->gather_decoded({.rows = {.table = table.data(),
                                                .num_rows = num_rows,
                                                .row_bytes = layout.row_bytes,
                                                .row_stride = layout.row_bytes,
                                                .ids = ids.data(),
                                                .num_ids = num_rows,
                                                .out = expected.data()},
                                       .encoding = layout.encoding,
                                       .scale = scales.data()}) == -1);
  const DeviceBytes on_device(table, layout.table_offset), id_bytes(ids), scale_bytes(scales);
  const DeviceBytes out(expected.size() * 4, 4 * layout.out_offset);
  require_cuda().rows.gather_decoded(0,
                                     {.rows = {.table = on_device.get(),
                                               .num_rows = num_rows,
                                               .row_bytes = layout.row_bytes,
                                               .ids = id_bytes.get(),
                                               .wide_ids = true,
                                               .num_ids = num_rows,
                                               .out = out.get()},
                                      .encoding = layout.encoding,
                                      .scale = scale_bytes.as<float>()},
                                     nullptr);
  const auto result = out.read<uint32_t>();
  for (size_t i = 0; i < result.size(); ++i)
    if (result[i] != std::bit_cast<uint32_t>(expected[i]))
      FAIL("element " << i << ": " << result[i] << ", not "
                      << std::bit_cast<uint32_t>(expected[i]));
}

TEST_CASE("encoded rows are decoded to the CPU's bits") {
  for (const Encoding encoding : {Encoding::kFloat16, Encoding::kBFloat16})
    for (const int64_t width : {1, 2, 3, 4, 25, 63, 100, 257, 602}) {
      check_decode({encoding, 2 * width});
      check_decode({encoding, 2 * width, 2, 0});
      check_decode({encoding, 2 * width, 0, 1});
    }
  for (const Encoding encoding : {Encoding::kInt8ScaledByRow, Encoding::kInt8ScaledByColumn})
    for (const int64_t width : {1, 2, 3, 4, 7, 25, 100, 301, 602}) {
      check_decode({encoding, width});
      check_decode({encoding, width, 1, 0});
      check_decode({encoding, width, 0, 1});
      check_decode({encoding, width, 0, 2});
      check_decode({encoding, width, 3, 1});
    }
}

TEST_CASE("rows that are scaled each on its own have their scales in the cache, too") {
  const std::vector<uint8_t> table = {1, 2, 3, 4, 5, 6}, cached = {7, 8};
  const std::vector<float> scales = {10, 20, 30}, cached_scales = {0.5f};
  const std::vector<int32_t> slots = {-1, 0, -1};
  const DeviceBytes table_bytes(table), cached_bytes(cached), scale_bytes(scales),
      cached_scale_bytes(cached_scales), slot_bytes(slots), ids(std::vector<int32_t>{2, 1, 0}),
      out(6 * sizeof(float));
  require_cuda().rows.gather_decoded(0,
                                     {.rows = {.table = table_bytes.get(),
                                               .num_rows = 3,
                                               .row_bytes = 2,
                                               .ids = ids.get(),
                                               .wide_ids = false,
                                               .num_ids = 3,
                                               .out = out.get(),
                                               .cache = {.slot = slot_bytes.as<int32_t>(),
                                                         .rows = cached_bytes.get(),
                                                         .scale = cached_scale_bytes.as<float>()}},
                                      .encoding = Encoding::kInt8ScaledByRow,
                                      .scale = scale_bytes.as<float>()},
                                     nullptr);
  CHECK(out.read<float>() == std::vector<float>{150, 180, 3.5f, 4, 10, 20});
}

}  // namespace
}  // namespace ramet
