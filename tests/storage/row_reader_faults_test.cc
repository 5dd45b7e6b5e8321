// What a reader does when files are not what they should be, or reads fail.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "ramet/error.h"
#include "ramet/row_reader.h"
#include "support/row_reader_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

// The descriptor by which this process reads `path`.
int descriptor_of(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == path)
      return std::stoi(entry.path().filename().string());
  }
  return -1;
}

template <typename Call>
Error error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  FAIL("no error");
  return {ErrorCode::kIo, ""};
}

}  // namespace

TEST_CASE("a file that was cut short is an error of the rows behind its end alone") {
  const TempDir folder;
  for (const ReadKind& kind : read_kinds())
    for (const int64_t row_bytes : {400, 512, 4096})
      for (const int64_t left : {int64_t{0}, 10 * row_bytes + 128, 10 * row_bytes + 129}) {
        const std::string path = folder / "rows";
        const RowSpan span = write_marked(path, row_bytes, 0, 100, 128);
        const auto reader = RowReader::open({span}, row_bytes, options_of(kind, 0));
        CAPTURE(reader->how());
        CAPTURE(left);
        std::filesystem::resize_file(path, static_cast<uintmax_t>(left));
        std::string out(static_cast<size_t>(row_bytes * 3), '?');
        const std::vector<int64_t> ids{60, 50, 10};
        const Error error = error_of([&] { reader->submit(ids, out.data())->complete(); });
        CHECK(error.code() == ErrorCode::kCorrupt);
        const std::string text = error.what();
        CHECK(text.starts_with(path + ": the file ends at byte " + std::to_string(left) + ","));
        CHECK(text.find("row 10 at byte " + std::to_string(10 * row_bytes + 128)) !=
              std::string::npos);
        if (left > 0) check_rows(*reader, {9, 0, 3}, row_bytes);
      }
}

TEST_CASE("a read that fails is an error with the row, the file and the system's reason") {
  const TempDir folder;
  for (const ReadKind& kind : read_kinds()) {
    const std::vector<RowSpan> spans{write_marked(folder / "good", 512, 0, 100, 128),
                                     write_marked(folder / "bad", 512, 100, 100, 128)};
    const auto reader = RowReader::open(spans, 512, options_of(kind, 0));
    CAPTURE(reader->how());
    // A descriptor that cannot be read from takes the place of the reader's.
    const int replaced = descriptor_of(spans[1].path);
    REQUIRE(replaced >= 0);
    const int failing = ::open(spans[1].path.c_str(), O_WRONLY | O_CLOEXEC);
    REQUIRE(failing >= 0);
    REQUIRE(::dup2(failing, replaced) == replaced);
    ::close(failing);

    std::string out(512 * 5, '?');
    const std::vector<int64_t> ids{150, 3, 120, 99, 199};
    const Error error = error_of([&] { reader->submit(ids, out.data())->complete(); });
    CHECK(error.code() == ErrorCode::kIo);
    CHECK(error.system_errno() == EBADF);
    CHECK(std::string(error.what()) == "cannot read row 120 at byte 10368 of " + spans[1].path +
                                           ": " + std::generic_category().message(EBADF));
    // The others of that read came, and the reader goes on.
    CHECK(out.substr(512, 512) == marked_row(3, 512));
    CHECK(out.substr(512 * 3, 512) == marked_row(99, 512));
    check_rows(*reader, {5, 0}, 512);
    // A failed read may be dropped.
    static_cast<void>(reader->submit(ids, out.data()));
    check_rows(*reader, {5, 0}, 512);
  }
}

TEST_CASE("a file that was replaced or removed is still the one that was opened") {
  const TempDir folder;
  for (const ReadKind& kind : read_kinds()) {
    const std::string path = folder / "rows";
    const RowSpan span = write_marked(path, 512, 0, 100, 128);
    const auto reader = RowReader::open({span}, 512, options_of(kind));
    write_file(folder / "other", std::string(60000, 'y'));
    std::filesystem::rename(folder / "other", path);
    check_rows(*reader, {99, 0, 50}, 512);
    std::filesystem::remove(path);
    check_rows(*reader, {99, 0, 50}, 512);
  }
}

TEST_CASE("files that are not as their spans say are errors when they are opened") {
  const TempDir folder;
  const std::string path = folder / "rows";
  const RowSpan span = write_marked(path, 512, 0, 100, 128);
  for (const ReadKind& kind : read_kinds()) {
    const auto code_of = [&](const RowSpan& wrong, int64_t row_bytes = 512) {
      return error_of([&] { return RowReader::open({wrong}, row_bytes, options_of(kind)); }).code();
    };
    RowSpan wrong = span;
    wrong.num_rows = 101;
    CHECK(code_of(wrong) == ErrorCode::kCorrupt);
    CHECK(code_of(span, 513) == ErrorCode::kCorrupt);
    wrong = span;
    wrong.identity = {1, 1};
    CHECK(code_of(wrong) == ErrorCode::kCorrupt);
    wrong = span;
    wrong.path = folder / "absent";
    CHECK(code_of(wrong) == ErrorCode::kNotFound);
    wrong.path = folder.path();
    CHECK(code_of(wrong) == ErrorCode::kCorrupt);
    wrong.path = "";
    CHECK(code_of(wrong) == ErrorCode::kInvalidArgument);
    wrong = span;
    wrong.offset = -1;
    CHECK(code_of(wrong) == ErrorCode::kInvalidArgument);
    wrong = span;
    wrong.num_rows = int64_t{1} << 60;
    CHECK(code_of(wrong) == ErrorCode::kInvalidArgument);
    CHECK(code_of(span, -1) == ErrorCode::kInvalidArgument);
  }
  const auto code_of = [&](const std::vector<RowSpan>& spans, const RowReaderOptions& options) {
    return error_of([&] { return RowReader::open(spans, 512, options); }).code();
  };
  CHECK(code_of({span}, {.depth = 0}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({span}, {.depth = 1 << 20}) == ErrorCode::kInvalidArgument);
  CHECK(code_of({span, span}, {}) == ErrorCode::kInvalidArgument);
  if (!io_uring_problem().empty())
    CHECK(code_of({span}, {.method = ReadMethod::kIoUring}) == ErrorCode::kIo);
}

TEST_CASE("what cannot be read past the page cache is read through it") {
  if (!std::filesystem::is_directory("/dev/shm") || ::access("/dev/shm", W_OK) != 0) return;
  const std::string path = "/dev/shm/ramet-test-rows-" + std::to_string(::getpid());
  const RowSpan span = write_marked(path, 400, 0, 100, 128);
  for (const ReadMethod method : {ReadMethod::kAuto, ReadMethod::kThreads}) {
    const auto reader = RowReader::open({span}, 400, options_of({method, true}));
    CHECK(reader->how().ends_with(", buffered"));
    check_rows(*reader, {99, 0, 50}, 400);
  }
  std::filesystem::remove(path);
}

TEST_CASE("a reader of no rows has none to give") {
  const auto reader = RowReader::open({}, 512);
  CHECK(reader->submit({}, nullptr)->complete() == ReadCounts{});
  CHECK_THROWS_WITH(reader->submit(std::vector<int64_t>{0}, nullptr),
                    "ids[0] = 0, but there are no rows");
}
