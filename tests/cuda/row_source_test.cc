// Sources of rows in device memory against those of the host, in any order of completion.
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "cuda/on_host.h"
#include "cuda/registration_fixture.h"
#include "cuda/rows_fixture.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "tables/device/placement_plan.h"
#include "tables/row_source.h"

namespace ramet::test {
namespace {

constexpr int64_t kSourceRows = 100;

Table half_table() {
  Array rows = BufferPool::create()->allocate_array(DType::kFloat16, {kSourceRows, 7});
  auto* byte = static_cast<uint8_t*>(rows.data);
  for (int64_t i = 0; i < rows.bytes(); ++i)
    byte[i] = static_cast<uint8_t>(mix64(static_cast<uint64_t>(i)) & 0x3b);
  return Table(rows, "half");
}

struct Fixture {
  CudaStream stream{0};
  std::shared_ptr<DevicePool> device = DevicePool::create(0);
  std::shared_ptr<BufferPool> pinned = create_pinned_pool();
  ReadContext context{
      .pool = device->on(stream.handle()), .stream = stream.handle(), .pinned = pinned};
  ~Fixture() { stream.synchronize(); }
};

Array pinned_ids(const std::vector<int64_t>& ids, BufferPool& pinned) {
  Array array = pinned.allocate_array(DType::kInt64, {std::ssize(ids)});
  std::copy(ids.begin(), ids.end(), static_cast<int64_t*>(array.data));
  return array;
}

TEST_CASE("every source of a device hands out the rows of the table, in any order") {
  const Table table = half_table();
  const std::vector<int64_t> cached{3, 99, 0, 50, 51};
  Fixture fixture;
  const RowSourceOptions kinds[] = {{.placement = Location::kDevice},
                                    {.placement = Location::kInPlace},
                                    {.placement = Location::kPinnedCopy},
                                    {.placement = Location::kStaged},
                                    {.cached = borrow(cached)}};
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (RowSourceOptions options : kinds) {
      options.device = 0;
      options.decode = dtype != DType::kFloat16;
      options.as_bfloat16 = dtype == DType::kBFloat16;
      const auto source = make_row_source(table, options);
      CHECK(source->ids_device() == (options.placement == Location::kStaged ? kHost : 0));
      std::vector<std::vector<int64_t>> ids;
      std::vector<Array> arrays;
      std::vector<std::unique_ptr<RowRead>> reads;
      for (size_t i = 0; i < 4; ++i) {
        ids.push_back(some_ids(30 + i, kSourceRows));
        arrays.push_back(pinned_ids(ids.back(), *fixture.pinned));
        reads.push_back(source->submit(arrays.back(), fixture.context));
      }
      reads[1].reset();
      for (const size_t i : {size_t{3}, size_t{0}, size_t{2}}) {
        const Array rows = on_host(reads[i]->complete().rows);
        Array expected = options.decode ? table.gather_float32(ids[i]) : table.gather(ids[i]);
        if (options.as_bfloat16) {
          expected = BufferPool::create()->allocate_array(dtype, expected.shape);
          table.gather_bfloat16(ids[i], static_cast<uint16_t*>(expected.data));
        }
        REQUIRE(rows.dtype == dtype);
        REQUIRE(rows.shape == expected.shape);
        CHECK(std::memcmp(rows.data, expected.data, static_cast<size_t>(rows.bytes())) == 0);
      }
    }
  }
}

TEST_CASE("reads count what the device's cache had, each its own") {
  const std::vector<int64_t> cached{3, 99, 0};
  Fixture fixture;
  const auto source = make_row_source(half_table(), {.device = 0, .cached = borrow(cached)});
  const Array one = pinned_ids({3, 4, 3, 5}, *fixture.pinned),
              other = pinned_ids({0, 99}, *fixture.pinned);
  const auto first = source->submit(one, fixture.context),
             second = source->submit(other, fixture.context);
  CHECK(second->complete().cache == CacheStats{2, 0});
  CHECK(first->complete().cache == CacheStats{2, 2});
}

struct LockLimit : Setting {
  explicit LockLimit(int64_t bytes)
      : Setting("RAMET_EMULATOR_REGISTER_IN_ALL", std::to_string(bytes)) {}
};

// Rows in pages of their own.
Table large_source(DType dtype, Array scale = {}) {
  constexpr int64_t kWidth = 64, kCount = 4096;
  const int64_t bytes = kCount * kWidth * item_size(dtype);
  const auto data = map_pages(size_t(bytes), PROT_READ | PROT_WRITE);
  std::memset(data.get(), 3, size_t(bytes));
  return {{data.get(), dtype, {kCount, kWidth}, data}, std::move(scale), "large"};
}

TEST_CASE("to measure both ways page-locks a part of the table alone") {
  const std::vector<float> half(4096, 0.5f);
  Array scale = borrow(half);
  scale.shape = {4096, 1};
  const Table tables[] = {large_source(DType::kFloat32), large_source(DType::kInt8, scale)};
  const auto pool = DevicePool::create(0);
  const auto pinned = create_pinned_pool();
  const int64_t before = HostRegistration::registered_bytes();
  constexpr int64_t kPart = 64 << 10, kPages = 4 * 4096;  // of the part's and the scale's ends
  for (const Table& table : tables) {
    const LockLimit limit(before + kPart + kPages);
    const ReadingRates rates =
        measure_reading(table, *pool, pinned, {.threads = 2, .part_bytes = kPart});
    CHECK(rates.in_place > 0);
    CHECK(rates.staged > 0);
    CHECK(rates.refusal.empty());
    CHECK(HostRegistration::registered_bytes() == before);
  }
  if (!is_emulated()) return;
  const LockLimit limit(before + kPages);
  const ReadingRates refused = measure_reading(tables[0], *pool, pinned, {.part_bytes = kPart});
  CHECK(refused.in_place == 0);
  CHECK(refused.refusal.find("cannot page-lock") != std::string::npos);
}

TEST_CASE("where a part could be page-locked, but not the table, its rows are staged") {
  if (!is_emulated()) return;
  const Table table = large_source(DType::kFloat32);
  const std::vector<int64_t> cached{3, 99};
  const RowSourceOptions options{.device = 0, .cached = borrow(cached)};
  const LockLimit limit(HostRegistration::registered_bytes() + 8192);
  PlacementDecision decision{"large", Location::kInPlace, table.rows().bytes(), "measured"};
  const auto source = place_rows(table, options, true, decision);
  CHECK(source->ids_device() == kHost);
  CHECK(decision.placement == Location::kStaged);
  CHECK(decision.why.starts_with("measured; not in place: cannot page-lock"));
  Fixture fixture;
  const Array ids = pinned_ids({5, 4095}, *fixture.pinned);
  const Array rows = on_host(source->submit(ids, fixture.context)->complete().rows);
  const Array expected = table.gather(ids.as<int64_t>());
  CHECK(std::memcmp(rows.data, expected.data, static_cast<size_t>(rows.bytes())) == 0);
  CHECK_THROWS_WITH_AS(place_rows(table, options, false, decision),
                       doctest::Contains("cannot page-lock"), Error);
}

}  // namespace
}  // namespace ramet::test
