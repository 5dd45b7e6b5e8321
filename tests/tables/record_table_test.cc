// Records on a disk against a map of them; docs/embeddings.md, "Rows on a disk".
#include "ramet/record_table.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "ramet/error.h"
#include "ramet/random.h"
#include "support/fork.h"
#include "support/process_entries.h"
#include "support/refused_calls.h"
#include "support/row_reader_fixture.h"
#include "support/temp_dir.h"
#include "tables/disk/record_layout.h"

using namespace ramet;
using namespace ramet::test;

namespace {

using Ids = std::vector<int64_t>;

constexpr int64_t kRecords = 300,
                  kRecordWidth = 70;  // 280 bytes: a record of two blocks with its state

RecordTableOptions options_in(const std::string& folder, int64_t cache_rows) {
  return {.folder = folder,
          .cache_rows = cache_rows,
          .init = {.distribution = Distribution::kNormal, .seed = 7}};
}

std::vector<RecordColumn> state_columns() {
  return {{DType::kFloat32, {kRecordWidth}}, {DType::kInt32, {}}};
}

std::vector<float> initial_row(int64_t id) {
  std::vector<float> row(kRecordWidth);
  Array rows{row.data(), DType::kFloat32, {1, kRecordWidth}, nullptr, true};
  init_rows(rows, Distribution::kNormal, 7, std::span(&id, 1), kRecords);
  return row;
}

// What a slow table has, and what an update does to a row.
struct TwinRow {
  std::vector<float> weights, moments;
  int32_t steps = 0;

  explicit TwinRow(int64_t id) : weights(initial_row(id)), moments(kRecordWidth) {}
  void update(float by) {
    ++steps;
    for (size_t i = 0; i < weights.size(); ++i) {
      moments[i] = moments[i] / 2 + by + static_cast<float>(i);
      weights[i] += moments[i] * static_cast<float>(steps);
    }
  }
};

class RecordTwin {
 public:
  TwinRow& operator[](int64_t id) { return rows_.try_emplace(id, id).first->second; }

 private:
  std::map<int64_t, TwinRow> rows_;
};

void check_gather(RecordTable& table, RecordTwin& twin, const Ids& ids, int threads = 2) {
  const Array rows = table.gather(ids, threads);
  REQUIRE(rows.shape == std::vector<int64_t>{std::ssize(ids), kRecordWidth});
  for (size_t i = 0; i < ids.size(); ++i)
    REQUIRE(std::memcmp(rows.as<float>().data() + i * kRecordWidth, twin[ids[i]].weights.data(),
                        kRecordWidth * sizeof(float)) == 0);
}

Ids from_to(int64_t begin, int64_t end) {
  Ids ids(static_cast<size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

void check_all(RecordTable& table, RecordTwin& twin, const Ids& ids) {
  const std::vector<Array> columns = table.read(ids);
  REQUIRE(columns.size() == 3);
  for (size_t at = 0; at < ids.size(); ++at) {
    const TwinRow& expected = twin[ids[at]];
    const auto same = [&](const Array& array, const std::vector<float>& values) {
      return std::memcmp(array.as<float>().data() + at * kRecordWidth, values.data(),
                         kRecordWidth * sizeof(float)) == 0;
    };
    REQUIRE(same(columns[0], expected.weights));
    REQUIRE(same(columns[1], expected.moments));
    REQUIRE(columns[2].as<int32_t>()[at] == expected.steps);
  }
}

// Each row once, in the table and in the twin.
void update_both(RecordTable& table, RecordTwin& twin, const Ids& ids, float by) {
  const std::span<const int64_t> list(ids);
  table.update(std::span(&list, 1), [&](const HeldRecords& held) {
    std::map<int64_t, int64_t> slots;
    for (size_t i = 0; i < ids.size(); ++i) {
      const int64_t slot = held.slots[0][i];
      REQUIRE(held.row_ids.as<int64_t>()[static_cast<size_t>(slot)] == ids[i]);
      slots[ids[i]] = slot;
    }
    for (const auto& [id, slot] : slots) {
      auto* weights = static_cast<float*>(held.columns[0].data) + slot * kRecordWidth;
      auto* moments = static_cast<float*>(held.columns[1].data) + slot * kRecordWidth;
      const int32_t steps = ++static_cast<int32_t*>(held.columns[2].data)[slot];
      for (size_t i = 0; i < kRecordWidth; ++i) {
        moments[i] = moments[i] / 2 + by + static_cast<float>(i);
        weights[i] += moments[i] * static_cast<float>(steps);
      }
      twin[id].update(by);
    }
  });
}

// Sets rows to those of a table of other values.
void write_both(RecordTable& table, RecordTwin& twin, const Ids& ids, float by) {
  for (const int64_t id : ids)
    twin[id].update(by);
  std::vector<Array> columns = table.read(ids);
  for (int64_t at = 0; at < std::ssize(ids); ++at) {
    const TwinRow& of = twin[ids[static_cast<size_t>(at)]];
    std::copy(of.weights.begin(), of.weights.end(),
              static_cast<float*>(columns[0].data) + at * kRecordWidth);
    std::copy(of.moments.begin(), of.moments.end(),
              static_cast<float*>(columns[1].data) + at * kRecordWidth);
    static_cast<int32_t*>(columns[2].data)[at] = of.steps;
  }
  table.write(ids, columns);
}

Ids batch(uint64_t key, size_t count = 25) {
  Ids ids = drawn_ids(count, kRecords, key);
  for (size_t i = 0; i < ids.size(); i += 3)
    ids[i] = ids[i] % 20;  // some are used often
  return ids;
}

// The descriptor by which this process reads records in a folder.
int reading_descriptor_in(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const int fd = std::stoi(entry.path().filename().string());
    const std::string path = std::filesystem::read_symlink(entry.path(), gone).string();
    if (path.starts_with(folder + "/") && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) return fd;
  }
  return -1;
}

Array borrowed(const Ids& ids) {
  return borrow(std::span<const int64_t>(ids));
}

}  // namespace

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

TEST_CASE("what is wrong is named, and nothing has changed") {
  const TempDir folder;
  const RecordColumn weights{DType::kFloat32, {kRecordWidth}};
  const auto code_of = [&](int64_t rows, const RecordColumn& column, RecordTableOptions options) {
    try {
      const RecordTable table(rows, column, std::move(options));
    } catch (const Error& error) {
      CHECK(std::string(error.what()) != "");
      return error.code();
    }
    FAIL("no error");
    return ErrorCode::kIo;
  };
  CHECK(code_of(5, weights, options_in(folder / "absent", 5)) == ErrorCode::kNotFound);
  CHECK(code_of(5, weights, options_in(folder.path(), -1)) == ErrorCode::kInvalidArgument);
  CHECK(code_of(-1, weights, options_in(folder.path(), 1)) == ErrorCode::kInvalidArgument);
  CHECK(code_of(5, {DType::kInt32, {1}}, options_in(folder.path(), 1)) ==
        ErrorCode::kInvalidArgument);
  CHECK(code_of(int64_t{1} << 40, weights, options_in(folder.path(), 1)) ==
        ErrorCode::kInvalidArgument);
  CHECK(code_of(int64_t{1} << 31, {DType::kFloat32, {1 << 20}},
                options_in(folder.path(), int64_t{1} << 30)) == ErrorCode::kNoSpace);

  RecordTable table(kRecords, weights, options_in(folder.path(), 5));
  const Array wide = borrowed(Ids{1});
  CHECK_THROWS_WITH(static_cast<void>(table.gather(Ids{3, kRecords})),
                    "ids[1] = 300 is outside the 300 rows of the embedding");
  CHECK_THROWS_AS(table.announce(borrowed(Ids{-1})), Error);
  CHECK_THROWS_AS(static_cast<void>(table.read(Ids{-1})), Error);
  CHECK_THROWS_AS(static_cast<void>(table.owned(5, 3)), Error);
  CHECK_THROWS_AS(table.write(Ids{0}, std::vector<Array>{wide}), Error);
  CHECK_THROWS_WITH(table.write(Ids{3, 3}, table.read(Ids{3, 4})),
                    "ids of columns to write do not ascend");
  RecordTableOptions others = options_in(folder.path(), 5);
  others.owners = Ownership::hashed("node", kRecords - 1, 2);
  CHECK(code_of(kRecords, weights, others) == ErrorCode::kInvalidArgument);
  others.owners = Ownership::hashed("node", kRecords, 2);
  others.rank = 2;
  CHECK(code_of(kRecords, weights, others) == ErrorCode::kOutOfRange);
}

TEST_CASE("a disk that is full is an error that loses nothing") {
  const TempDir folder;
  RecordTwin twin;
  RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 40));
  table.set_state(state_columns());
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  // Of all files of this process: as if the disk had room for 50 records.
  const auto most = static_cast<rlim_t>(50 * table.record_bytes());
  const rlimit limit{most, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  int failures = 0;
  for (uint64_t step = 0; step < 10; ++step) {
    const Ids ids = batch(step, 30);
    try {
      check_gather(table, twin, ids);
    } catch (const Error& error) {
      ++failures;
      const std::string text = error.what();
      CHECK(text.find(folder.path()) != std::string::npos);
      CHECK(text.find(" bytes at byte ") != std::string::npos);
      continue;
    }
    update_both(table, twin, ids, 1);
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(failures > 0);
  check_all(table, twin, from_to(0, kRecords));
  for (uint64_t step = 0; step < 10; ++step)
    update_both(table, twin, batch(step, 30), 1);
  check_all(table, twin, from_to(0, kRecords));
}

TEST_CASE("an io_uring that breaks under a write is an error that loses nothing") {
  if (kNoThreadsAfterFork || !io_uring_problem().empty()) return;
  const TempDir folder;
  CHECK(holds_in_child([&] {
    RecordTwin twin;
    RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 30));
    table.set_state(state_columns());
    for (uint64_t step = 0; step < 5; ++step)
      update_both(table, twin, batch(step), 1);
    // This thread writes, one of the reader's own reads.
    if (!refuse_calls(SYS_io_uring_enter, EPERM, Refused::kCaller)) return true;
    std::string failure;
    for (uint64_t step = 5; step < 10; ++step) {
      try {
        update_both(table, twin, batch(step), 1);
      } catch (const Error& error) {
        failure += error.what();  // of one call: after it threads write
      }
    }
    check_all(table, twin, from_to(0, kRecords));
    return failure.find("cannot write ") == 0 && failure.rfind("cannot write ") == 0;
  }));
}

TEST_CASE("a read that fails is an error that names the folder, and the table goes on") {
  const TempDir folder;
  RecordTwin twin;
  RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 40));
  table.set_state(state_columns());
  for (uint64_t step = 0; step < 10; ++step)
    update_both(table, twin, batch(step, 60), 1);
  // A descriptor that cannot be read from takes the place of the reader's.
  const int reader = reading_descriptor_in(folder.path());
  REQUIRE(reader >= 0);
  const int kept = ::dup(reader), failing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  REQUIRE(::dup2(failing, reader) == reader);
  const auto text_of = [&](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kIo);
      return error.what();
    }
    return "";
  };
  const Ids ids = batch(2, 200);
  const std::string text = text_of([&] { static_cast<void>(table.gather(ids)); });
  CHECK(text.starts_with("cannot read row "));
  CHECK(text.find(" of the records in " + folder.path() + ": ") != std::string::npos);
  CHECK(text_of([&] { update_both(table, twin, ids, 1); }) != "");
  CHECK(text_of([&] { static_cast<void>(table.read(from_to(0, kRecords))); }) != "");
  REQUIRE(::dup2(kept, reader) == reader);
  ::close(kept);
  ::close(failing);
  check_gather(table, twin, ids);
  update_both(table, twin, ids, 1);
  check_all(table, twin, from_to(0, kRecords));
}

TEST_CASE("a row that cannot be read is named by its id, whatever its place in the file") {
  const TempDir folder;
  RecordTwin twin;
  RecordTable table(kRecords, {DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 0));
  table.set_state(state_columns());
  for (const int64_t id : {200, 7, 123})
    update_both(table, twin, {id}, 1);
  const int reader = reading_descriptor_in(folder.path());
  REQUIRE(reader >= 0);
  const int failing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  REQUIRE(::dup2(failing, reader) == reader);
  ::close(failing);
  const std::string byte = std::to_string(table.record_bytes());  // of the second record
  CHECK_THROWS_WITH(static_cast<void>(table.gather(Ids{7})),
                    doctest::Contains(("cannot read row 7 at byte " + byte + " of the").c_str()));
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
        CHECK_THROWS_WITH(static_cast<void>(table.gather(Ids{id})), message.c_str());
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

TEST_CASE("a forked child is refused, and takes nothing from its parent") {
  const TempDir folder;
  auto table = std::make_unique<RecordTable>(
      kRecords, RecordColumn{DType::kFloat32, {kRecordWidth}}, options_in(folder.path(), 20));
  table->announce(borrowed(batch(0)));
  CHECK(holds_in_child([&] {
    bool refused = false;
    try {
      static_cast<void>(table->gather(Ids{1}));
    } catch (const Error& error) {
      refused = error.code() == ErrorCode::kInvalidArgument;
    }
    table.reset();
    return refused;
  }));
  RecordTwin twin;
  check_gather(*table, twin, batch(0));
}
