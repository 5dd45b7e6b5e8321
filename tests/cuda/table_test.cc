// Tables as a device reads them: each placement and encoding against Table itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/registration_fixture.h"
#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"
#include "ramet/buffer_pool.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_table.h"
#include "ramet/error.h"
#include "support/errors.h"
#include "support/threads.h"

namespace ramet::test {
namespace {

constexpr int64_t kRows = 100;

// In pages of its own, which are locked in some tests.
Array make(DType dtype, std::vector<int64_t> shape, uint64_t seed = 3, bool writable = false) {
  Array array = BufferPool::create()->allocate_array(dtype, std::move(shape));
  const std::vector<uint8_t> bytes = noise(size_t(array.bytes()), seed);
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(array.data));
  array.writable = writable;
  return array;
}

Array scale(std::vector<int64_t> shape) {
  Array array = make(DType::kFloat32, std::move(shape));
  for (int64_t i = 0; i < array.bytes() / 4; ++i)
    static_cast<float*>(array.data)[i] = 0.25f + float(i) / 3;
  return array;
}

std::vector<uint8_t> bytes_of(const Array& array) {
  const auto* const first = static_cast<uint8_t*>(array.data);
  return {first, first + array.bytes()};
}

// Tables of every kind that is gathered.
std::vector<Table> tables() {
  return {Table(make(DType::kFloat32, {kRows, 25})),
          Table(make(DType::kFloat16, {kRows, 3, 5})),
          Table(make(DType::kBFloat16, {kRows, 64})),
          Table(make(DType::kInt8, {kRows, 33}), scale({kRows, 1}), "by row"),
          Table(make(DType::kInt8, {kRows, 33}), scale({1, 33}), "by column"),
          Table(make(DType::kInt64, {kRows})),
          Table(make(DType::kBool, {kRows, 2}))};
}

void check_gather(const CudaTable& cuda, bool decode) {
  const Table& table = cuda.table();
  CAPTURE(table.rows().describe());
  const std::vector<int64_t> ids = some_ids(70, kRows);
  const Array expected = decode ? table.gather_float32(ids) : table.gather(ids);
  const DeviceBytes id_bytes(ids), out(size_t(expected.bytes()));
  cuda.gather(on_device(id_bytes, DType::kInt64, {70}),
              on_device(out, expected.dtype, expected.shape), nullptr, {.decode = decode});
  CHECK(holds(out, expected));
}

TEST_CASE("every kind of table gives a device the rows that it gives the CPU") {
  const std::vector<int32_t> cached = {3, 99, 0, 50, 51};
  for (const Table& table : tables())
    for (const CudaTableOptions& options : {CudaTableOptions{.placement = Location::kDevice},
                                            CudaTableOptions{.placement = Location::kInPlace},
                                            CudaTableOptions{.placement = Location::kPinnedCopy},
                                            CudaTableOptions{.cached = borrow(cached)}}) {
      const CudaTable cuda(table, options);
      check_gather(cuda, false);
      if (table.is_encoded() || table.rows().dtype == DType::kFloat32) check_gather(cuda, true);
      CHECK(cuda.num_cached() == options.cached.rows());
    }
}

TEST_CASE("checked gathers name the first bad id") {
  const CudaTable cuda(tables()[0], {});
  std::vector<int64_t> ids = some_ids(70, kRows);
  ids[40] = kRows;
  ids[50] = -3;
  const DeviceBytes id_bytes(ids), out(70 * 100);
  const Array there = on_device(id_bytes, DType::kInt64, {70}),
              rows = on_device(out, DType::kFloat32, {70, 25});
  cuda.gather(there, rows, nullptr);
  for (const Array& of_ids : {there, borrow(ids)})
    CHECK(message_of(ErrorCode::kOutOfRange, [&] {
            cuda.gather(of_ids, rows, nullptr, {.check = true});
          }) == "ids[40] = 100 is outside the 100 rows of table");
  ids[40] = ids[50] = 0;
  cuda.gather(borrow(ids), rows, nullptr, {.check = true});
}

TEST_CASE("threads gather from one table on streams of their own, checked and not") {
  const CudaTable cuda(tables()[1], {});
  std::atomic<int> wrong = 0;
  in_threads(4, [&](int t) {
    std::vector<int64_t> ids = some_ids(size_t(50 + t), kRows);
    const Array expected = cuda.table().gather(ids);
    const DeviceBytes good_ids(ids), out(size_t(expected.bytes()));
    ids[size_t(t)] = -1;
    const DeviceBytes bad_ids(ids);
    const Array rows = on_device(out, expected.dtype, expected.shape);
    const CudaStream stream(0);
    for (int i = 0; i < 20; ++i) {
      cuda.gather(on_device(good_ids, DType::kInt64, {50 + t}), rows, stream.handle(),
                  {.check = i % 2 > 0});
      stream.synchronize();
      wrong += !holds(out, expected);
      const std::string message = message_of(ErrorCode::kOutOfRange, [&] {
        cuda.gather(on_device(bad_ids, DType::kInt64, {50 + t}), rows, stream.handle(),
                    {.check = true});
      });
      wrong += !contains(message, "ids[" + std::to_string(t) + "] = -1");
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("a copy of immutable rows is shared, one of others is not") {
  for (const bool writable : {false, true}) {
    const Table table(make(DType::kFloat32, {kRows, 4}, 3, writable));
    const CudaTable a(table, {.placement = Location::kDevice}),
        b(table, {.placement = Location::kDevice});
    CHECK((a.rows().data == b.rows().data) == !writable);
  }
}

TEST_CASE("memory of which a part is locked by chance is ordinary memory") {
  constexpr int64_t kInts = kPage / 8;
  const Table table = tables().front();
  const CudaTable cuda(table, {});
  const Array pages = make(DType::kInt64, {2 * kInts});
  auto* const id = static_cast<int64_t*>(pages.data);
  for (int64_t i = 0; i < pages.rows(); ++i)
    id[i] = i % kRows;
  Array first = pages;
  first.shape = {kInts};
  const HostRegistration locked(first);
  const Array expected = table.gather(std::span<const int64_t>(id, size_t(pages.rows())));
  const DeviceBytes out(size_t(expected.bytes()));
  cuda.gather(pages, on_device(out, expected.dtype, expected.shape), nullptr);
  CHECK(holds(out, expected));

  Array rows = make(DType::kFloat32, {kRows, 25});
  Array begin = rows;
  begin.shape = {1, 25};
  const HostRegistration locked_too(begin);
  const DeviceBytes ids(some_ids(kRows, kRows));
  check_throws(ErrorCode::kInvalidArgument, {"not locked"},
               [&] { cuda.gather(on_device(ids, DType::kInt64, {kRows}), rows, nullptr); });
}

TEST_CASE("a source lives, and stays locked, as long as the table") {
  Array source = make(DType::kFloat32, {kRows, 4});
  const std::weak_ptr<const void> owner = source.owner;
  const int64_t before = HostRegistration::registered_bytes();
  {
    const CudaTable cuda{Table(source), {}};
    source = {};
    CHECK(!owner.expired());
    CHECK(HostRegistration::registered_bytes() > before);
  }
  CHECK(owner.expired());
  CHECK(HostRegistration::registered_bytes() == before);
}

TEST_CASE("a table may die while its last gather has not begun") {
  const std::vector<int64_t> ids = some_ids(5000, kRows);
  const Table table = tables()[0];
  const Array expected = table.gather(ids);
  const DeviceBytes id_bytes(ids), out(size_t(expected.bytes()));
  for (const Location placement : {Location::kInPlace, Location::kDevice}) {
    const CudaStream stream(0);
    CudaTable(table, {.placement = placement})
        .gather(on_device(id_bytes, DType::kInt64, {5000}),
                on_device(out, expected.dtype, expected.shape), stream.handle());
    CHECK(holds(out, expected));
  }
}

TEST_CASE("scatter writes the table in place, or its copy") {
  for (const Location placement : {Location::kInPlace, Location::kDevice}) {
    const Array source = make(DType::kInt16, {kRows, 3}, 3, true),
                rows = make(DType::kInt16, {4, 3});
    const CudaTable cuda(Table(source), {.placement = placement});
    const std::vector<int64_t> ids = {9, 4, 9, 0};
    const DeviceBytes id_bytes(ids), row_bytes(bytes_of(rows));
    const DeviceBytes scratch(size_t(scatter_scratch_bytes(4)));
    const Array there = on_device(id_bytes, DType::kInt64, {4}),
                from = on_device(row_bytes, DType::kInt16, {4, 3});
    const std::vector<uint8_t> before = bytes_of(source);
    cuda.scatter(there, from, nullptr);
    cuda.scatter(there, from, nullptr,
                 {.scratch = on_device(scratch, DType::kUInt8, {scatter_scratch_bytes(4)})});
    runtime().synchronize(0, nullptr);
    const bool in_place = placement == Location::kInPlace;
    CHECK((bytes_of(source) != before) == in_place);
    const DeviceBytes out(size_t(rows.bytes()));
    cuda.gather(there, on_device(out, DType::kInt16, {4, 3}), nullptr);
    std::vector<uint8_t> expected = bytes_of(rows);
    std::copy_n(expected.begin() + 12, 6, expected.begin());  // the last of row 9
    CHECK(out.read<uint8_t>() == expected);
  }
}

TEST_CASE("what does not fit is refused") {
  const CudaTable cuda(Table(make(DType::kFloat32, {kRows, 4}, 3, true)), {});
  const DeviceBytes bytes(1000);
  const Array ids = on_device(bytes, DType::kInt64, {2}),
              rows = on_device(bytes, DType::kFloat32, {2, 4});
  const auto refuses = [&](const Array& of_ids, const Array& of_rows, const char* why) {
    check_throws(ErrorCode::kInvalidArgument, {why},
                 [&] { cuda.gather(of_ids, of_rows, nullptr); });
    check_throws(ErrorCode::kInvalidArgument, {why},
                 [&] { cuda.scatter(of_ids, of_rows, nullptr); });
  };
  refuses(on_device(bytes, DType::kInt16, {2}), rows, "int16[2], expected int32 or int64");
  refuses(on_device(bytes, DType::kInt64, {2, 1}), rows, "one dimension");
  refuses(ids, on_device(bytes, DType::kFloat32, {3, 4}), "float32[2, 4]");
  refuses(ids, on_device(bytes, DType::kFloat64, {2, 4}), "float64[2, 4]");
  Array elsewhere = rows;
  elsewhere.device = 1;
  refuses(ids, elsewhere, "device 1");
  elsewhere.device = kHost;
  refuses(ids, make(DType::kFloat32, {2, 4}), "host");

  const Table table = tables()[0];
  const std::vector<int64_t> cached = {1}, bad = {5, kRows};
  const CudaTable with_cache(Table(make(DType::kFloat32, {kRows, 4}, 3, true)),
                             {.cached = borrow(cached)});
  check_throws(ErrorCode::kInvalidArgument, {"cache"},
               [&] { with_cache.scatter(ids, rows, nullptr); });
  check_throws(ErrorCode::kInvalidArgument, {"read-only"},
               [&] { CudaTable(table, {}).scatter(ids, rows, nullptr); });
  check_throws(ErrorCode::kInvalidArgument, {"no use"}, [&] {
    CudaTable(table, {.placement = Location::kDevice, .cached = borrow(cached)});
  });
  check_throws(ErrorCode::kInvalidArgument, {"placement is 'staged', expected"},
               [&] { CudaTable(table, {.placement = Location::kStaged}); });
  check_throws(ErrorCode::kOutOfRange, {"ids[1] = 100"},
               [&] { CudaTable(table, {.cached = borrow(bad)}); });
  check_throws(ErrorCode::kDevice, {"77"}, [&] { CudaTable(table, {.device = 77}); });
}

}  // namespace
}  // namespace ramet::test
