// Damaged segments: an Error or a store whose every byte can be read, never a signal.
// docs/format.md, section 6.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "support/damage.h"
#include "support/segment_memory.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

std::string segment_bytes(const Store& store) {
  struct stat status{};
  REQUIRE(::fstat(store.segment_fd(), &status) == 0);
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  REQUIRE(::pread(store.segment_fd(), bytes.data(), bytes.size(), 0) == status.st_size);
  return bytes;
}

TEST_CASE("hundreds of damaged segments") {
  const std::string good = segment_bytes(*make_segment(small_graph().contents));
  Random random(4);
  int found = 0;
  for (int round = 0; round < 600; ++round) {
    const Fd memory = segment_memory(damage(good, random));
    CAPTURE(round);
    found += survives([&] { return Store::open_segment(memory.get()); });
  }
  CHECK(found > 300);
}

// A segment of one array of 8 bytes at byte 4096, with this table of contents.
std::string segment(const std::string& toc, size_t size = 4104) {
  std::string bytes = "RAMETSEG";
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(toc.size() >> 8 * i & 255);
  bytes += toc;
  bytes.resize(size, '\0');
  return bytes;
}

void check_segment(const std::string& bytes, const std::vector<std::string>& words) {
  const Fd memory = segment_memory(bytes);
  check_throws(ErrorCode::kCorrupt, words, [&] { return Store::open_segment(memory.get()); });
}

TEST_CASE("segments: everything before the table of contents") {
  const std::string good = segment("ramet-store 1\narray node/a/b <i8 1 4096\n");
  const Fd memory = segment_memory(good);
  CHECK(Store::open_segment(memory.get())->arrays().size() == 1);
  check_segment("", {"0 bytes", "too few"});
  check_segment(good.substr(0, 15), {"15 bytes", "too few"});
  check_segment("X" + good.substr(1), {"XAMETSEG"});
  check_segment(std::string(good).replace(8, 8, 8, '\xff'),
                {"18446744073709551615", "at most 4088"});
  check_segment(good + "x", {"4105 bytes", "end at 4104"});
  check_segment(good.substr(0, 4103), {"8 bytes", "ends at 4103"});
  check_segment(good.substr(0, 50), {"table of contents of", "at most 34"});
}

TEST_CASE("segments: the table of contents") {
  const auto with = [](const std::string& lines, const std::vector<std::string>& words) {
    check_segment(segment("ramet-store 1\n" + lines), words);
  };
  const std::string b = "array node/a/b <i8 1 4096\n";
  with("array node/a <i8 1 4096\n", {"line 2", "three parts"});
  with("array node/a/../../b <i8 1 4096\n", {"three parts"});
  with("array node/a/b >i8 1 4096\n", {"'>i8'"});
  with("array node/a/b <i8 1,x 4096\n", {"'x'", "number"});
  with("array node/a/b <i8  4096\n", {"''", "number"});
  with("array node/a/b <i8 4096\n", {"unknown line"});
  with("array node/a/b <i8 1,1,1,1,1,1,1,1,1 4096\n", {"9 dimensions"});
  with("array node/a/b <i8 4294967296,4294967296 4096\n", {"more than 2^63 bytes"});
  with("array node/a/b <i8 1 -4096\n", {"number"});
  with("array node/a/b <i8 1 4104\n", {"multiple of 4096"});
  with("array node/a/b <i8 1 0\n", {"overlaps the table of contents"});
  with("array node/a/b <i8 1 8192\n", {"ends at 4104"});
  with("array node/a/b <i8 1152921504606846975 4096\n", {"ends at 4104"});
  with("array node/a/b <i8 1 4611686018427387904\n", {"ends at 4104"});
  with(b + b, {"line 3", "twice"});
  with(b + "array node/a/c <i8 1 4096\n", {"overlaps the array that ends at 4104"});
  with(b + "node a -1\n", {"line 3", "-1"});
  with("node a 1\n", {"4104 bytes", "arrays end at"});
  check_segment(segment("ramet-store 2\n"), {"version '2'", "reads version 1"});
}

TEST_CASE("descriptors that are no segments") {
  const TempDir dir;
  const auto open = [](int fd) { return [fd] { return Store::open_segment(fd); }; };
  check_throws(ErrorCode::kIo, {"descriptor -1"}, open(-1));
  check_throws(ErrorCode::kIo, {"descriptor 1000000"}, open(1'000'000));
  write_file(dir / "file", segment("ramet-store 1\n"));
  const int file = ::open((dir / "file").c_str(), O_RDONLY | O_CLOEXEC);
  check_throws(ErrorCode::kCorrupt, {"not of a segment"}, open(file));
  ::close(file);
  const Fd unsealed = segment_memory(segment("ramet-store 1\narray node/a/b <i8 1 4096\n"), false);
  check_throws(ErrorCode::kCorrupt, {"not sealed"}, open(unsealed.get()));
  int pipes[2];
  REQUIRE(::pipe(pipes) == 0);
  check_throws(ErrorCode::kCorrupt, {"not of a segment"}, open(pipes[0]));
  ::close(pipes[0]);
  ::close(pipes[1]);
}

}  // namespace
}  // namespace ramet::test
