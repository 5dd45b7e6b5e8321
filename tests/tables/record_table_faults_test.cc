// Records on a disk where arguments are wrong, or the disk and the process fail.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "ramet/error.h"
#include "ramet/record_table.h"
#include "support/errors.h"
#include "support/fork.h"
#include "support/refused_calls.h"
#include "support/temp_dir.h"
#include "tables/record_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

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

}  // namespace

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
  CHECK_THROWS_WITH(table.gather(Ids{3, kRecords}),
                    "ids[1] = 300 is outside the 300 rows of the embedding");
  CHECK_THROWS_AS(table.announce(borrowed(Ids{-1})), Error);
  CHECK_THROWS_AS(table.read(Ids{-1}), Error);
  CHECK_THROWS_AS(table.owned(5, 3), Error);
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
  const auto text_of = [&](const auto& call) { return message_of(ErrorCode::kIo, call); };
  const Ids ids = batch(2, 200);
  const std::string text = text_of([&] { return table.gather(ids); });
  CHECK(text.starts_with("cannot read row "));
  CHECK(text.find(" of the records in " + folder.path() + ": ") != std::string::npos);
  CHECK(text_of([&] { update_both(table, twin, ids, 1); }) != "");
  CHECK(text_of([&] { return table.read(from_to(0, kRecords)); }) != "");
  REQUIRE(::dup2(kept, reader) == reader);
  ::close(kept);
  ::close(failing);
  check_gather(table, twin, ids);
  update_both(table, twin, ids, 1);
  check_all(table, twin, from_to(0, kRecords));
}

TEST_CASE("a row that cannot be read is named by its id, whatever its position in the file") {
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
  CHECK_THROWS_WITH(table.gather(Ids{7}),
                    doctest::Contains(("cannot read row 7 at byte " + byte + " of the").c_str()));
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
