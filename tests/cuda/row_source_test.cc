// Sources of rows in device memory against those of the host, in any order of completion.
#include <doctest/doctest.h>

#include <cstring>

#include "cuda/on_host.h"
#include "cuda/rows_fixture.h"
#include "ramet/cuda_memory.h"
#include "tables/row_source.h"

namespace ramet {
namespace {

constexpr int64_t kRows = 100;

Table half_table() {
  Array rows = BufferPool::create()->allocate_array(DType::kFloat16, {kRows, 7});
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
  for (const bool decode : {true, false}) {
    const RowSourceOptions kinds[] = {
        {.decode = decode, .device = 0, .placement = Location::kDevice},
        {.decode = decode, .device = 0, .placement = Location::kInPlace},
        {.decode = decode, .device = 0, .placement = Location::kPinnedCopy},
        {.decode = decode, .device = 0, .placement = Location::kStaged},
        {.decode = decode, .device = 0, .cached = borrow(std::span(cached))}};
    for (const RowSourceOptions& options : kinds) {
      const auto source = make_row_source(table, options);
      CHECK(source->ids_device() == (options.placement == Location::kStaged ? kHost : 0));
      std::vector<std::vector<int64_t>> ids;
      std::vector<Array> arrays;
      std::vector<std::unique_ptr<RowRead>> reads;
      for (size_t i = 0; i < 4; ++i) {
        ids.push_back(some_ids(30 + i, kRows));
        arrays.push_back(pinned_ids(ids.back(), *fixture.pinned));
        reads.push_back(source->submit(arrays.back(), fixture.context));
      }
      reads[1].reset();
      for (const size_t i : {3, 0, 2}) {
        const Array rows = test::on_host(reads[i]->complete().rows);
        const Array expected = decode ? table.gather_float32(ids[i]) : table.gather(ids[i]);
        REQUIRE(rows.dtype == expected.dtype);
        REQUIRE(rows.shape == expected.shape);
        CHECK(std::memcmp(rows.data, expected.data, static_cast<size_t>(rows.bytes())) == 0);
      }
    }
  }
}

TEST_CASE("reads count what the device's cache had, each its own") {
  const std::vector<int64_t> cached{3, 99, 0};
  Fixture fixture;
  const auto source =
      make_row_source(half_table(), {.device = 0, .cached = borrow(std::span(cached))});
  const Array one = pinned_ids({3, 4, 3, 5}, *fixture.pinned),
              other = pinned_ids({0, 99}, *fixture.pinned);
  const auto first = source->submit(one, fixture.context),
             second = source->submit(other, fixture.context);
  CHECK(second->complete().cache == CacheStats{2, 0});
  CHECK(first->complete().cache == CacheStats{2, 2});
}

}  // namespace
}  // namespace ramet
