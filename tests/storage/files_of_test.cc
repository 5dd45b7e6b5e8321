// Which files rows are mapped from, as the kernel says.
#include <doctest/doctest.h>
#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "base/system/memory_map.h"
#include "base/system/posix.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/row_files.h"
#include "ramet/row_reader.h"
#include "support/errors.h"
#include "support/mapped.h"
#include "support/temp_dir.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kWidth = 48;

std::string bytes_of(int64_t rows, int first) {
  std::string bytes(static_cast<size_t>(rows * kWidth), '\0');
  std::iota(bytes.begin(), bytes.end(), static_cast<char>(first));
  return bytes;
}

// Files of these numbers of rows, mapped side by side.
Array map_files(const TempDir& folder, const std::vector<int64_t>& rows, int64_t& stride) {
  std::vector<RowFile> files;
  for (const int64_t count : rows) {
    const std::string path = folder / ("part " + std::to_string(files.size()));
    write_file(path, bytes_of(count, static_cast<int>(files.size())));
    files.push_back(inspect_raw(path, DType::kUInt8, {kWidth}));
  }
  const int64_t most = *std::max_element(rows.begin(), rows.end());
  stride = rows.size() == 1 ? most : file_stride(most, std::ssize(rows), std::vector{kWidth});
  return map_rows(files, stride);
}

std::string row_in_file(const RowSpan& span, int64_t id) {
  return read_file(span.path).substr(
      static_cast<size_t>(span.offset + (id - span.first_row) * kWidth), kWidth);
}

std::string row_in_memory(const Array& rows, int64_t id) {
  return {static_cast<const char*>(rows.data) + id * kWidth, static_cast<size_t>(kWidth)};
}

}  // namespace

TEST_CASE("rows of a file are found where they are in it") {
  const TempDir folder;
  int64_t stride = 0;
  const Array rows = map_files(folder, {1000}, stride);
  const std::vector<RowSpan> spans = files_of(rows);
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].path == folder / "part 0");
  CHECK(spans[0].offset == 0);
  CHECK(spans[0].num_rows == 1000);
  CHECK(spans[0].first_row == 0);
}

TEST_CASE("some rows of a table are found, too") {
  const TempDir folder;
  int64_t stride = 0;
  Array rows = map_files(folder, {1000}, stride);
  rows.data = static_cast<std::byte*>(rows.data) + 100 * kWidth;
  rows.shape[0] = 300;
  const std::vector<RowSpan> spans = files_of(rows);
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].offset == 100 * kWidth);
  CHECK(spans[0].num_rows == 300);
}

TEST_CASE("each part of a table is a span, and what is between them has no file") {
  const TempDir folder;
  int64_t stride = 0;
  const Array rows = map_files(folder, {1000, 3, 0, 999}, stride);
  const std::vector<RowSpan> spans = files_of(rows);
  REQUIRE(spans.size() == 3);
  const std::vector<int64_t> parts{0, 1, 3}, counts{1000, 3, 999};
  for (size_t i = 0; i < 3; ++i) {
    CHECK(spans[i].path == folder / ("part " + std::to_string(parts[i])));
    CHECK(spans[i].first_row == parts[i] * stride);
    CHECK(spans[i].num_rows == counts[i]);
    for (const int64_t row : {int64_t{0}, counts[i] - 1}) {
      const int64_t id = spans[i].first_row + row;
      CHECK(row_in_file(spans[i], id) == row_in_memory(rows, id));
    }
  }
}

TEST_CASE("a file that was moved is found, one that was replaced or removed is an error") {
  const TempDir folder;
  int64_t stride = 0;
  const Array rows = map_files(folder, {100}, stride);
  std::filesystem::rename(folder / "part 0", folder / "moved");
  CHECK(files_of(rows).at(0).path == folder / "moved");
  std::filesystem::rename(folder / "moved", folder / "line\nfeed");
  CHECK(files_of(rows).at(0).path == folder / "line\nfeed");
  write_file(folder / "other", bytes_of(100, 7));
  std::filesystem::rename(folder / "other", folder / "line\nfeed");
  check_throws(ErrorCode::kNotFound, {"is not there any more"}, [&] { return files_of(rows); });
}

TEST_CASE("rows in memory, and rows that may be written, are of no file") {
  const Array in_memory = BufferPool::create()->allocate_array(DType::kFloat32, {100, 12});
  CHECK_THROWS_WITH(files_of(in_memory), "the rows are in memory, and not of a file");
  const TempDir folder;
  const std::string path = folder / "rows";
  write_file(path, bytes_of(1000, 0));
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto data = map_pages(1000 * kWidth, PROT_READ | PROT_WRITE, MAP_PRIVATE, file.get());
  const Array written{data.get(), DType::kUInt8, {1000, kWidth}, data, true};
  CHECK_THROWS_WITH(
      files_of(written),
      ("rows of " + path + " are mapped to be written: the file may hold others").c_str());
  CHECK(files_of(Array{nullptr, DType::kFloat32, {0, 4}, {}, false}).empty());
}

TEST_CASE("the kernel's text is read, and what is not understood is left out") {
  const std::string text =
      "00001000-00003000 r--s 00000000 fe:00 17                         /a b\\012c\n"
      "00003000-00004000 r--s 00002000 fe:00 17                         /a b\\012c\n"
      "nonsense\n"
      "00004000-00006000 r--s 00007000 fe:00 17                         /a b\\012c\n"
      "00006000-00008000 ---p 00000000 00:00 0 \n"
      "00009000-0000a000 r--s 00000000 fe:00 18                         /outside\n"
      "0000b000-0000c00";
  const std::vector<MappedRange> found = parse_maps(text, 0x2000, 0x9000);
  REQUIRE(found.size() == 3);
  CHECK(found[0].path == "/a b\nc");
  CHECK(found[0].begin == 0x1000);
  CHECK(found[0].end == 0x4000);
  CHECK(found[0].inode == 17);
  CHECK(found[1].offset == 0x7000);
  CHECK(found[2].is_reserved());
  CHECK(parse_maps(text, 0x20000, 0x30000).empty());
}
