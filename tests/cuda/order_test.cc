// docs/cuda.md, "How fast": ids by the region of the table that their rows are in, and gathers in
// that order.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "cuda/capture.h"
#include "cuda/rows_fixture.h"
#include "ramet/cuda_memory.h"
#include "ramet/cuda_table.h"
#include "support/errors.h"

namespace ramet::test {
namespace {

struct Ordered {
  std::vector<int64_t> ids;
  std::vector<uint32_t> positions;
};

// Of a table that is not there: the order depends on the ids alone.
template <typename Id>
Ordered order(const std::vector<Id>& ids, int64_t num_rows, int64_t row_bytes) {
  const int64_t counters = cuda_order_counters(num_rows, row_bytes);
  const DeviceBytes given(ids), ordered(ids.size() * sizeof(Id)), positions(ids.size() * 4),
      begins(size_t(counters) * 4), scan(size_t(require_cuda().sampling.scan_bytes(0, counters)));
  require_cuda().rows.order(0,
                            {.ids = given.get(),
                             .wide_ids = sizeof(Id) == 8,
                             .num_ids = int64_t(ids.size()),
                             .num_rows = num_rows,
                             .row_bytes = row_bytes,
                             .ordered = ordered.get(),
                             .positions = positions.as<uint32_t>(),
                             .begins = begins.as<uint32_t>(),
                             .scan = {scan.get(), require_cuda().sampling.scan_bytes(0, counters)}},
                            nullptr);
  const std::vector<Id> result = ordered.read<Id>();
  return {{result.begin(), result.end()}, positions.read<uint32_t>()};
}

template <typename Id>
void check_order(const std::vector<Id>& ids, int64_t num_rows, int64_t row_bytes) {
  const Ordered ordered = order(ids, num_rows, row_bytes);
  std::vector<int> seen(ids.size());
  std::vector<int64_t> regions;
  for (size_t i = 0; i < ids.size(); ++i) {
    REQUIRE(ordered.positions[i] < ids.size());
    ++seen[ordered.positions[i]];
    CHECK(ordered.ids[i] == int64_t{ids[ordered.positions[i]]});
    const bool is_row = ordered.ids[i] >= 0 && ordered.ids[i] < num_rows;
    regions.push_back(is_row ? ordered.ids[i] * row_bytes >> row_regions(num_rows, row_bytes).shift
                             : INT64_MAX);
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
  CHECK(std::is_sorted(regions.begin(), regions.end()));
}

TEST_CASE("ids come by the region of their rows, with their positions; those of no row come last") {
  const int64_t num_rows = 50'000'000;  // of 512 bytes: 12,208 regions
  std::vector<int64_t> ids;
  for (uint64_t i = 0; i < 3001; ++i)
    ids.push_back(int64_t(i * 0x9E3779B97F4A7C15u % uint64_t(num_rows)));
  check_order(ids, num_rows, 512);
  std::fill(ids.begin() + 100, ids.begin() + 2000, ids[7]);  // a hub
  ids[3] = -1;
  ids[4] = num_rows;
  ids[5] = INT64_MIN;
  ids[3000] = INT64_MAX;
  check_order(ids, num_rows, 512);
  check_order(std::vector<int32_t>(ids.begin(), ids.end()), num_rows, 512);
  check_order(ids, int64_t{1} << 33, 4096);  // more than 2^16 regions of 2 MiB
  check_order(ids, 1, 1);
  check_order(std::vector<int64_t>{}, num_rows, 512);
}

// Rows of 5 MiB in all: three regions.
Table large_table() {
  Array rows =
      BufferPool::create()->allocate_array(DType::kFloat32, {(int64_t{5} << 20) / 100, 25});
  const std::vector<uint8_t> bytes = noise(size_t(rows.bytes()));
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(rows.data));
  rows.writable = false;
  return Table(rows, "large");
}

TEST_CASE("a sorted gather names the first bad id as it was given, and counts hits") {
  const Table table = large_table();
  const std::vector<int64_t> cached = {5};
  const CudaTable cuda(table, {.cached = borrow(cached)});
  std::vector<int64_t> ids = some_ids(100, table.rows().rows());
  ids[0] = ids[99] = 5;
  ids[70] = -8;
  ids[40] = INT64_MAX;
  const DeviceBytes id_bytes(ids), out(100 * 100);
  const Array there = on_device(id_bytes, DType::kInt64, {100}),
              rows = on_device(out, DType::kFloat32, {100, 25});
  check_throws(ErrorCode::kOutOfRange, {"ids[40] = 9223372036854775807 is outside"}, [&] {
    cuda.gather(there, rows, nullptr, {.check = true, .order = RowOrder::kSorted});
  });
  CHECK(cuda.num_hits() == 2);
}

TEST_CASE("the memory of a sorted gather is the pool's again when it was given to the stream") {
  const Table table = large_table();
  const CudaTable cuda(table, {});
  const std::vector<int64_t> ids = some_ids(3000, table.rows().rows());
  const DeviceBytes id_bytes(ids), out(3000 * 100);
  const auto pool = DevicePool::shared(0);
  const int64_t before = pool->bytes_in_use();
  int64_t idle = 0;
  for (int i = 0; i < 5; ++i) {
    cuda.gather(on_device(id_bytes, DType::kInt64, {3000}),
                on_device(out, DType::kFloat32, {3000, 25}), nullptr, {.order = RowOrder::kSorted});
    CHECK(pool->bytes_in_use() == before);
    if (i == 0) idle = pool->bytes_idle();
  }
  CHECK(pool->bytes_idle() == idle);
  CHECK(holds(out, table.gather(ids)));
}

// docs/cuda.md, "CUDA graphs": the graph would write to memory that is another's when it runs.
TEST_CASE("ids are not sorted on a stream that is captured") {
  const CudaTable cuda(large_table(), {});
  const std::vector<int64_t> ids = some_ids(100, 1000);
  const DeviceBytes id_bytes(ids), out(100 * 100);
  const CudaStream stream(0);
  const auto gather = [&](RowOrder order) {
    cuda.gather(on_device(id_bytes, DType::kInt64, {100}),
                on_device(out, DType::kFloat32, {100, 25}), stream.handle(), {.order = order});
  };
  Capture capture(stream.handle());
  check_throws(ErrorCode::kInvalidArgument, {"order is 'sorted' on a stream that is captured"},
               [&] { gather(RowOrder::kSorted); });
  gather(RowOrder::kAuto);
  gather(RowOrder::kAsGiven);
  CHECK(capture.end());
}

}  // namespace
}  // namespace ramet::test
