// Rows written into a file, by io_uring and by threads, and what a kernel may refuse of it.
#include "storage/row_writer.h"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "ramet/error.h"
#include "storage/row_reader/write_ring.h"
#include "support/fork.h"
#include "support/refused_calls.h"
#include "support/row_reader_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kRowBytes = 512, kRows = 2000;

Fd open_to_write(const std::string& path) {
  return Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

// Every other row, so that each is a request.
std::vector<int64_t> odd_rows() {
  std::vector<int64_t> rows;
  for (int64_t row = 1; row < kRows; row += 2)
    rows.push_back(row);
  return rows;
}

void write_marked_rows(RowWriter& writer, const std::vector<int64_t>& rows) {
  writer.write(rows, [&](size_t i, std::byte* to) {
    std::memcpy(to, marked_row(rows[i], kRowBytes).data(), kRowBytes);
  });
}

bool holds_marked_rows(const std::string& path, const std::vector<int64_t>& rows) {
  const Fd file = open_to_write(path);
  std::string got(kRowBytes, '\0');
  for (const int64_t row : rows) {
    const ssize_t bytes = ::pread(file.get(), got.data(), got.size(), row * kRowBytes);
    if (bytes != kRowBytes || got != marked_row(row, kRowBytes)) return false;
  }
  return true;
}

// errno of the Error that `call` throws, or 0.
template <typename Call>
int errno_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.system_errno();
  }
  return 0;
}

bool has_ring() {
  const bool has = make_write_ring(kRowBytes) != nullptr;
  if (!has) MESSAGE("io_uring is not tested: ", io_uring_problem());
  return has;
}

}  // namespace

TEST_CASE("rows are written to their positions, by a ring and by threads") {
  const TempDir folder;
  const std::vector<int64_t> rows = odd_rows();
  for (const bool io_uring : {true, false}) {
    const std::string path = folder / (io_uring ? "ring" : "threads");
    RowWriter writer(open_to_write(path), kRowBytes, "rows", io_uring);
    write_marked_rows(writer, {3, 4, 5, 900});
    write_marked_rows(writer, rows);
    CHECK(holds_marked_rows(path, {3, 4, 5, 900}));
    CHECK(holds_marked_rows(path, rows));
  }
}

// Linux 5.1 to 5.5 has io_uring, but neither its reads and writes nor a way to ask for them.
TEST_CASE("a kernel whose io_uring cannot be asked what it can do has none") {
  if (kNoThreadsAfterFork || !has_ring()) return;
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", kRowBytes, 0, 100, 0);
  CHECK(holds_in_child([&] {
    if (!refuse_probing(EINVAL)) return true;
    if (make_write_ring(kRowBytes) != nullptr || io_uring_problem().empty()) return false;
    RowWriter writer(open_to_write(folder / "written"), kRowBytes, "rows", true);
    write_marked_rows(writer, odd_rows());
    const auto reader = RowReader::open({span}, kRowBytes, options_of({ReadMethod::kAuto, true}));
    check_rows(*reader, {99, 0, 50}, kRowBytes);
    return reader->how().starts_with("16 threads, ");
  }));
  CHECK(holds_marked_rows(folder / "written", odd_rows()));
}

TEST_CASE("a ring that breaks is an error of the call, and threads write after it") {
  if (kNoThreadsAfterFork || !has_ring()) return;
  const TempDir folder;
  for (const int error : {EPERM, ENOMEM})  // at once, and when it stays
    CHECK(holds_in_child([&] {
      const std::string path = folder / std::to_string(error);
      RowWriter writer(open_to_write(path), kRowBytes, "rows", true);
      write_marked_rows(writer, {2, 4, 6, 8, 10, 12});
      if (!refuse_calls(SYS_io_uring_enter, error)) return true;
      const std::vector<int64_t> rows = odd_rows();
      if (errno_of([&] { write_marked_rows(writer, rows); }) != error) return false;
      write_marked_rows(writer, rows);
      return holds_marked_rows(path, rows) && holds_marked_rows(path, {2, 4, 6, 8, 10, 12});
    }));
}

TEST_CASE("a reader whose ring breaks fails what is read, and does not wait") {
  if (kNoThreadsAfterFork || !has_ring()) return;
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", kRowBytes, 0, 100, 0);
  CHECK(holds_in_child([&] {
    const auto reader =
        RowReader::open({span}, kRowBytes, options_of({ReadMethod::kIoUring, true}, 0));
    check_rows(*reader, {99, 0, 50}, kRowBytes);
    if (!refuse_calls(SYS_io_uring_enter, EPERM)) return true;
    const auto ids = drawn_ids(50, 100, 1);
    std::string out(kRowBytes * ids.size(), '?');
    for (int i = 0; i < 5; ++i)  // more requests than the ring has entries
      if (errno_of([&] { reader->submit(ids, out.data())->complete(); }) != EPERM) return false;
    return true;
  }));
}
