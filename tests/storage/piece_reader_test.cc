// Pieces of mapped rows, read from their file.
#include "storage/row_reader/piece_reader.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/errors.h"
#include "support/mapped.h"
#include "support/row_reader_fixture.h"

using namespace ramet;
using namespace ramet::test;

TEST_CASE("pieces of mapped rows are read one ahead, past the page cache") {
  constexpr int64_t kRows = 1000, kBytes = 400, kOffset = 128, kPiece = 300;
  const TempDir folder;
  const std::string path = folder / "rows";
  write_marked(path, kBytes, 0, kRows, kOffset);
  const Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ::fdatasync(file.get());
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  const auto mapped = map_pages(kOffset + kRows * kBytes, PROT_READ, MAP_SHARED, file.get());
  const Array rows{mapped.get() + kOffset, DType::kUInt8, {kRows, kBytes}, nullptr, true};
  PieceReader reader(rows, "", kPiece);
  if (!reader.is_for(0, kRows)) {
    MESSAGE("this file system has no O_DIRECT");
    return;
  }
  reader.begin(0, kPiece);
  for (int64_t first = 0; first < kRows; first += kPiece) {
    const std::byte* const piece = reader.finish();
    const int64_t next = first + kPiece, count = std::min(kPiece, kRows - first);
    if (next < kRows) reader.begin(next, std::min(kPiece, kRows - next));
    for (int64_t row = 0; row < count; ++row)
      REQUIRE(std::string(reinterpret_cast<const char*>(piece + row * kBytes), kBytes) ==
              marked_row(first + row, kBytes));
  }
  CHECK(reader.is_for(0, kRows));  // the page cache has none
  const std::string by_descriptor = "/proc/self/fd/" + std::to_string(file.get());
  const Array from_begin{mapped.get(), DType::kUInt8, {kRows, kBytes}, nullptr, true};
  ::unlink(path.c_str());
  CHECK_FALSE(PieceReader(from_begin, "", kPiece).is_for(0, kRows));
  PieceReader unnamed(from_begin, by_descriptor, kPiece);
  REQUIRE(unnamed.is_for(0, kRows));
  unnamed.begin(0, 1);
  CHECK(std::memcmp(unnamed.finish(), "xxx", 3) == 0);
  ::madvise(mapped.get(), kOffset + kRows * kBytes, MADV_POPULATE_READ);
  CHECK_FALSE(reader.is_for(0, kRows));

  REQUIRE(::ftruncate(file.get(), kRows * kBytes / 2) == 0);
  reader.begin(600, kPiece);
  CHECK(contains(message_of(ErrorCode::kCorrupt, [&] { static_cast<void>(reader.finish()); }),
                 "rows: the file was cut short"));
}
