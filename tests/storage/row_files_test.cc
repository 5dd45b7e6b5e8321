// Rows in files, mapped side by side.
#include "ramet/row_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/damage.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

// An .npy file whose data begins at byte `offset`.
std::string npy(const std::string& descr, const std::string& shape, size_t offset) {
  std::string dict =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  dict.resize(offset - 10, ' ');
  const auto length = offset - 10;
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(length & 255) +
         static_cast<char>(length >> 8) + dict;
}

std::string counting(size_t bytes, int first) {
  std::string data(bytes, '\0');
  std::iota(data.begin(), data.end(), static_cast<char>(first));
  return data;
}

// Files of uint8 rows, row_bytes each, with what each holds.
struct Files {
  std::vector<RowFile> files;
  std::vector<std::string> data;

  void add(const TempDir& folder, size_t rows, size_t row_bytes, size_t offset) {
    const std::string path = folder / std::to_string(files.size());
    data.push_back(counting(rows * row_bytes, static_cast<int>(7 * files.size())));
    if (offset == 0) {
      write_file(path, data.back());
      files.push_back(inspect_raw(path, DType::kUInt8, {int64_t(row_bytes)}));
    } else {
      const std::string shape = std::to_string(rows) + ", " + std::to_string(row_bytes);
      write_file(path, npy("|u1", shape, offset) + data.back());
      files.push_back(inspect_npy(path));
    }
  }

  [[nodiscard]] int64_t stride() const {
    int64_t most = 0;
    for (const RowFile& file : files)
      most = std::max(most, file.rows());
    return file_stride(most, int64_t(files.size()), std::vector{files[0].row_bytes()});
  }

  // Whether every row of `mapped` is that of its file.
  void check(const Array& mapped, int64_t stride) const {
    REQUIRE(mapped.rows() == int64_t(files.size()) * stride);
    CHECK(!mapped.writable);
    for (size_t k = 0; k < files.size(); ++k) {
      const char* rows =
          static_cast<const char*>(mapped.data) + int64_t(k) * stride * mapped.row_bytes();
      CHECK(std::memcmp(rows, data[k].data(), data[k].size()) == 0);
    }
  }
};

TEST_CASE("rows of files lie at one stride, wherever they begin in their files") {
  for (const size_t row_bytes : {1, 3, 16, 100, 257, 512, 4096}) {
    CAPTURE(row_bytes);
    const TempDir folder;
    Files files;
    for (const size_t offset : {128, 128, 4096, 0, 192, 112, 8320, 4224})
      files.add(folder, 1 + files.files.size() * 37, row_bytes, offset);
    files.add(folder, 0, row_bytes, 128);
    const int64_t stride = files.stride();
    files.check(map_rows(files.files, stride), stride);
  }
}

TEST_CASE("one file is mapped without rows between") {
  const TempDir folder;
  Files files;
  files.add(folder, 100'000, 48, 128);
  files.check(map_rows(files.files, 100'000), 100'000);
}

TEST_CASE("what is written to rows that are mapped privately stays there") {
  const TempDir folder;
  Files files;
  for (const size_t offset : {128, 192})  // mapped, and read to memory
    files.add(folder, 5000, 100, offset);
  const int64_t stride = files.stride();
  const Array own = map_rows(files.files, stride, OpenMode::kCopyOnWrite);
  REQUIRE(own.writable);
  for (const int64_t k : {0, 1})
    std::memset(static_cast<char*>(own.data) + k * stride * own.row_bytes(), 1, 5000 * 100);
  files.check(map_rows(files.files, stride), stride);
}

TEST_CASE("files without rows, and rows without bytes") {
  const TempDir folder;
  Files files;
  files.add(folder, 0, 12, 128);
  files.check(map_rows(files.files, 0), 0);
  files.add(folder, 0, 12, 0);
  files.check(map_rows(files.files, files.stride()), files.stride());
  write_file(folder / "narrow", npy("|u1", "5, 0", 128));
  const std::vector<RowFile> narrow{inspect_npy(folder / "narrow")};
  CHECK(map_rows(narrow, 5).shape == std::vector<int64_t>{5, 0});
}

TEST_CASE("rows outlive the files' names, and are for reading alone") {
  const TempDir folder;
  Files files;
  files.add(folder, 5000, 100, 128);
  files.add(folder, 5000, 100, 128);
  const Array rows = map_rows(files.files, files.stride());
  for (const RowFile& file : files.files)
    std::filesystem::remove(file.path);
  files.check(rows, files.stride());
  // The kernel refuses what would be a fault here.
  auto* const data = static_cast<char*>(rows.data);
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  CHECK((::read(zeros, data, 1) < 0 && errno == EFAULT));
  ::close(zeros);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  CHECK(::write(ends[1], data, 1) == 1);
  CHECK((::write(ends[1], data + 5000 * 100 + 4096, 1) < 0 && errno == EFAULT));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("a stride keeps arrays of several widths at pages, and saves addresses") {
  for (const int64_t width : {1, 4, 12, 512, 1000}) {
    const int64_t stride = file_stride(1'000'000, 4, std::vector{width, int64_t{4}});
    CHECK(stride * width % (2 << 20) == 0);
    CHECK(stride * 4 % (2 << 20) == 0);
    CHECK(stride * width >= 1'000'000 * width + 65'536);
  }
  const int64_t few = file_stride(1'000'000, 4, std::vector{int64_t{12}});
  const int64_t many = file_stride(1'000'000, 65'535, std::vector{int64_t{1001}});
  CHECK(few % (1 << 19) == 0);
  CHECK(many < 1 << 20);
  CHECK(many % 4096 == 0);
}

TEST_CASE("errors name the file, its bytes and the bound") {
  const TempDir folder;
  write_file(folder / "raw", std::string(1001, 'x'));
  check_throws(ErrorCode::kCorrupt, {folder / "raw", "1001 bytes", "12 bytes", "float32[3]"},
               [&] { return inspect_raw(folder / "raw", DType::kFloat32, {3}); });
  check_throws(ErrorCode::kInvalidArgument, {folder / "raw", "no bytes"},
               [&] { return inspect_raw(folder / "raw", DType::kFloat32, {0}); });
  check_throws(ErrorCode::kInvalidArgument, {folder / "raw", "-1"},
               [&] { return inspect_raw(folder / "raw", DType::kFloat32, {-1}); });
  check_throws(ErrorCode::kInvalidArgument, {folder / "raw", "2^63"}, [&] {
    return inspect_raw(folder / "raw", DType::kFloat32, {int64_t{1} << 40, int64_t{1} << 40});
  });
  check_throws(ErrorCode::kNotFound, {folder / "none"},
               [&] { return inspect_raw(folder / "none", DType::kFloat32, {3}); });
  check_throws(ErrorCode::kCorrupt, {folder.path(), "not a regular file"},
               [&] { return inspect_raw(folder.path(), DType::kFloat32, {3}); });
  write_file(folder / "short.npy", npy("<f4", "10, 3", 128) + "abc");
  check_throws(ErrorCode::kCorrupt, {"short.npy", "3 bytes of data", "needs 120"},
               [&] { return inspect_npy(folder / "short.npy"); });
  check_throws(ErrorCode::kInvalidArgument, {"no files"},
               [&] { return map_rows(std::vector<RowFile>{}, 1); });
}

TEST_CASE("files that do not fit each other, or what was inspected") {
  const TempDir folder;
  Files files;
  files.add(folder, 10, 12, 128);
  files.add(folder, 10, 12, 128);
  write_file(folder / "other", npy("<f4", "10, 3", 128) + std::string(120, 'x'));
  const std::vector<RowFile> mixed{files.files[0], inspect_npy(folder / "other")};
  check_throws(ErrorCode::kInvalidArgument, {"other", "float32[10, 3]", "uint8[10, 12]"},
               [&] { return map_rows(mixed, 4096); });
  check_throws(ErrorCode::kInvalidArgument, {"uint8", "bfloat16"},
               [&] { return files.files[0].as_bfloat16(); });
  check_throws(ErrorCode::kNoSpace, {"2 files", "addresses"},
               [&] { return map_rows(files.files, int64_t{1} << 60); });
  write_file(files.files[1].path, "x");
  check_throws(ErrorCode::kCorrupt, {files.files[1].path, "resized"},
               [&] { return map_rows(files.files, files.stride()); });
}

TEST_CASE("damaged files are an error or rows, and nothing else") {
  const TempDir folder;
  Random random(1);
  const std::string good = npy("<f4", "50, 3", 128) + std::string(600, 'x');
  for (int round = 0; round < 200; ++round) {
    write_file(folder / "first", damage(good, random));
    write_file(folder / "second", good);
    try {
      const std::vector<RowFile> files{inspect_npy(folder / "first"),
                                       inspect_npy(folder / "second")};
      const int64_t most = std::max(files[0].rows(), files[1].rows());
      const int64_t stride = file_stride(most, 2, std::vector{files[0].row_bytes()});
      const Array rows = map_rows(files, stride);
      for (const int64_t k : {0, 1}) {
        const RowFile& file = files[static_cast<size_t>(k)];
        const auto* begin = static_cast<const char*>(rows.data) + k * stride * rows.row_bytes();
        (void)std::accumulate(begin, begin + file.array().bytes(), int64_t{0});
      }
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(folder.path()) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace ramet::test
