// Records on a disk against a map of them; docs/embeddings.md, "Rows on a disk".
#include "ramet/record_table.h"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include "ramet/error.h"
#include "support/process_entries.h"
#include "support/temp_dir.h"
#include "tables/disk/record_layout.h"
#include "tables/record_fixture.h"

using namespace ramet;
using namespace ramet::test;

TEST_CASE("rows and their state are those of a table in memory, whatever the cache holds") {
  const TempDir folder;
  for (const int64_t cache_rows : {0, 1, 10, 60, 300, 1000})
    for (const auto method : {ReadMethod::kAuto, ReadMethod::kThreads}) {
      CAPTURE(cache_rows);
      RecordTableOptions options = options_in(folder.path(), cache_rows);
      options.method = method;
      RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options);
      RecordTwin twin;
      check_gather(table, twin, batch(1));
      table.set_state(state_columns());
      for (uint64_t step = 0; step < 40; ++step) {
        const Ids ids = batch(step);
        check_gather(table, twin, ids);
        if (step % 5 == 1) check_gather(table, twin, batch(step + 100));  // a second call
        update_both(table, twin, ids, 0.5F * static_cast<float>(step));
        if (step % 7 == 2) update_both(table, twin, batch(step + 200), 1);  // that nobody read
        if (step % 8 == 3) write_both(table, twin, from_to(50, 90), 3);
        if (step % 8 == 5) check_all(table, twin, from_to(0, kRecords));
      }
      check_all(table, twin, from_to(0, kRecords));
      if (cache_rows < 300) CHECK(table.counts().read.rows > 0);
      CHECK(table.file_bytes() <= kRecords * table.record_bytes());
      CHECK(entries_of(folder.path().c_str()) == 0);
    }
}

TEST_CASE("batches that are announced are read ahead, and served as earlier batches left them") {
  const TempDir folder;
  for (const int64_t cache_rows : {0, 10, 60, 120, 300}) {
    RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}},
                      options_in(folder.path(), cache_rows));
    table.set_state(state_columns());
    RecordTwin twin;
    constexpr uint64_t kSteps = 60, kWindow = 3;
    std::vector<Ids> batches;
    for (uint64_t step = 0; step < kSteps; ++step)
      batches.push_back(batch(step));
    uint64_t announced = 0;
    for (uint64_t step = 0; step < kSteps; ++step) {
      for (; announced < std::min(step + kWindow, kSteps); ++announced)
        table.announce(borrowed(batches[announced]));
      if (step % 10 == 4) continue;                                      // a batch is left out
      if (step % 10 == 6) check_gather(table, twin, batch(step + 100));  // or comes unannounced
      if (step == 30) table.forget();
      check_gather(table, twin, batches[step]);
      update_both(table, twin, batches[step], 0.25F);
    }
    check_all(table, twin, from_to(0, kRecords));
    if (cache_rows == 0) CHECK(table.counts().read_ahead == 0);
  }
}

TEST_CASE("another thread may announce and forget while batches are used") {
  const TempDir folder;
  RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 100));
  table.set_state(state_columns());
  RecordTwin twin;
  std::thread loader([&table] {
    for (uint64_t step = 0; step < 200; ++step) {
      table.announce(borrowed(batch(step)));
      if (step % 50 == 49) table.forget();
    }
  });
  for (uint64_t step = 0; step < 200; ++step) {
    check_gather(table, twin, batch(step));
    update_both(table, twin, batch(step), 1);
    if (step == 100) {
      table.set_state({});  // also while it reads ahead
      break;
    }
  }
  loader.join();
  table.forget();
}

TEST_CASE("a batch that is announced is there when it is asked for") {
  const TempDir folder;
  RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 60));
  table.set_state(state_columns());
  RecordTwin twin;
  for (uint64_t step = 0; step < 10; ++step)
    update_both(table, twin, batch(step), 1);
  const RecordCounts before = table.counts();
  table.announce(borrowed(batch(3)));
  while (table.counts().hits + table.counts().misses == before.hits + before.misses)
    std::this_thread::yield();
  check_gather(table, twin, batch(3));
  CHECK(table.counts().read_ahead == before.read_ahead + 1);
}

TEST_CASE("a new state begins with zeros and leaves the weights") {
  const TempDir folder;
  RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 20));
  CHECK(table.file_bytes() == 0);
  table.set_state(state_columns());
  CHECK(table.file_bytes() == 0);  // nothing was changed
  RecordTwin twin;
  for (uint64_t step = 0; step < 10; ++step)
    update_both(table, twin, batch(step), 1);
  table.set_state({});
  CHECK(table.columns().size() == 1);
  const Ids ids = batch(3);
  const RecordCounts before = table.counts();
  check_gather(table, twin, ids);
  CHECK(table.counts().written.rows >= before.written.rows);
  table.set_state(state_columns());
  const std::vector<Array> columns = table.read(from_to(0, kRecords));
  for (const float moment : columns[1].as<float>())
    REQUIRE(moment == 0);
}

TEST_CASE("constants, narrow rows and rows without values") {
  const TempDir folder;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    RecordTable table(5, {dtype, {3}},
                      {.folder = folder.path(), .cache_rows = 1, .init = {.value = 0.5}});
    const Array rows = table.gather(Ids{4, 4, 0});
    CHECK(rows.dtype == dtype);
    const std::string bits = dtype == DType::kFloat32   ? std::string("\0\0\0\x3f", 4)
                             : dtype == DType::kFloat16 ? std::string("\0\x38", 2)
                                                        : std::string("\0\x3f", 2);
    for (size_t i = 0; i < 9; ++i)
      CHECK(std::memcmp(static_cast<char*>(rows.data) + i * bits.size(), bits.data(),
                        bits.size()) == 0);
  }
  RecordTable empty(0, {DType::kFloat32, {3}}, options_in(folder.path(), 5));
  CHECK(empty.gather({}).shape == std::vector<int64_t>{0, 3});
  RecordTable narrow(5, {DType::kFloat32, {0}}, options_in(folder.path(), 5));
  narrow.update({}, [](const HeldRecords&) {});
  CHECK(narrow.gather(Ids{4}).shape == std::vector<int64_t>{1, 0});
}

TEST_CASE("records are padded to blocks where that costs no more than themselves") {
  CHECK(width_of(1540, 512).bytes == 2048);
  CHECK(width_of(1540, 512).direct);
  CHECK(width_of(512, 512).bytes == 512);
  CHECK(!width_of(1540, 4096).direct);
  CHECK(width_of(1540, 4096).bytes == 1540);
  CHECK(width_of(196, 512).bytes == 204);  // 20 of a page
  CHECK(!width_of(196, 512).direct);
  CHECK(width_of(2052, 0).bytes == 2052);
  CHECK(width_of(0, 512).bytes == 0);
}

namespace {

// Owners of kRecords by two ranks and a third without rows.
std::vector<Ownership> some_owners() {
  const int64_t bounds[] = {0, 110, 110, kRecords};
  const auto vector = std::make_shared<std::vector<uint8_t>>(kRecords);
  for (size_t i = 0; i < vector->size(); ++i)
    (*vector)[i] = i % 7 < 3 ? 2 : 0;
  const Array owners{vector->data(), DType::kUInt8, {kRecords}, vector, false};
  return {Ownership::ranges(borrow(std::span<const int64_t>(bounds))),
          Ownership::hashed("node", kRecords, 3), Ownership::by_vector(owners, 3)};
}

Ids of_rank(const Ownership& owners, int64_t rank, Ids ids) {
  std::erase_if(ids, [&](int64_t id) { return owners.owner(id) != rank; });
  return ids;
}

}  // namespace

TEST_CASE("each of several ranks has the rows that it owns, by their ids") {
  const TempDir folder;
  for (const Ownership& owners : some_owners())
    for (int64_t rank = 0; rank < 3; ++rank) {
      CAPTURE(rank);
      RecordTableOptions options = options_in(folder.path(), 30);
      options.owners = owners;
      options.rank = rank;
      RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options);
      const Ids mine = of_rank(owners, rank, from_to(0, kRecords));
      const auto count = std::ssize(mine);
      CHECK(table.num_rows() == kRecords);
      REQUIRE(table.num_owned() == count);
      const Array owned = table.owned(0, count), some = table.owned(count / 3, count / 2);
      CHECK(std::ranges::equal(owned.as<int64_t>(), mine));
      CHECK(std::ranges::equal(
          some.as<int64_t>(), std::span(mine).subspan(static_cast<size_t>(count / 3),
                                                      static_cast<size_t>(count / 2 - count / 3))));
      table.set_state(state_columns());
      RecordTwin twin;
      for (uint64_t step = 0; step < 30; ++step) {
        const Ids ids = of_rank(owners, rank, batch(step, 40));
        if (step % 2 == 0) table.announce(borrowed(ids));
        check_gather(table, twin, ids);
        update_both(table, twin, ids, 0.5F * static_cast<float>(step));
      }
      write_both(table, twin, mine, 2);
      check_all(table, twin, mine);
      for (int64_t id = 0; id < kRecords; ++id) {
        if (owners.owner(id) == rank) continue;
        const std::string message = "ids[0] = " + std::to_string(id) +
                                    " is a row of another rank, not of rank " +
                                    std::to_string(rank);
        CHECK_THROWS_WITH(table.gather(Ids{id}), message.c_str());
        CHECK_THROWS_AS(table.announce(borrowed({id})), Error);
      }
    }
}

TEST_CASE("memory_bytes counts pages that were written to, however rows lie apart") {
  const TempDir folder;
  constexpr int64_t kMany = int64_t{1} << 20, kPage = 4096;
  RecordTable table(kMany, {DType::kFloat32, {1}}, {.folder = folder.path(), .cache_rows = 1000});
  const int64_t before = table.memory_bytes();
  static_cast<void>(table.read(from_to(0, kMany)));  // takes none: no row is found anywhere
  CHECK(table.memory_bytes() == before);
  Ids apart(600);
  for (size_t i = 0; i < apart.size(); ++i)
    apart[i] = static_cast<int64_t>(i) * 1700;  // of 4 bytes each: more than a page apart
  static_cast<void>(table.gather(apart));
  CHECK(table.memory_bytes() >= before + 600 * kPage);
  CHECK(table.memory_bytes() <= before + 2 * 4 * kMany + (int64_t{8} << 20));
}
