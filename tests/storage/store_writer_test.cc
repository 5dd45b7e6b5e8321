// Writing stores: what is refused, what replaces what, what a failure leaves. docs/format.md,
// section 5. tests/python/stores/test_paths.py has what memory or the disk does not hold.
#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <vector>

#include "base/system/space.h"
#include "ramet/store_writer.h"
#include "storage/commit.h"
#include "support/errors.h"
#include "support/mapped.h"
#include "support/marked_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

namespace fs = std::filesystem;

struct Interrupt {};

TEST_CASE("a store replaces a store, and readers keep the old one") {
  const TempDir dir;
  write_store(dir / "store", marked(1).contents);
  const auto old = Store::open(dir / "store");
  write_store(dir / "store/", marked(2).contents);
  CHECK(mark_of(dir / "store") == 2);
  check_equal(*old, marked(1).contents);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("writing over a link replaces the store that it leads to") {
  const TempDir dir;
  fs::create_directory(dir / "disk");
  write_store(dir / "disk/real", marked(1).contents);
  fs::create_symlink("disk/real", dir / "link");
  write_store(dir / "link", marked(2).contents);
  CHECK(fs::is_symlink(dir / "link"));
  CHECK(mark_of(dir / "disk/real") == 2);
}

TEST_CASE("what is not a store is not replaced") {
  const TempDir dir;
  write_file(dir / "folder/thesis.txt", "ten years");
  write_file(dir / "file", "text");
  write_file(dir / "other/ramet.txt", "ramet-stories\n");
  fs::create_symlink("nowhere", dir / "dangling");
  for (const char* name : {"folder", "file", "other", "dangling"}) {
    const std::vector<std::string> words = {dir / name, "not a store"};
    check_throws(ErrorCode::kInvalidArgument, words,
                 [&] { write_store(dir / name, marked(1).contents); });
    check_throws(ErrorCode::kInvalidArgument, words, [&] { check_target(dir / name); });
  }
  CHECK(read_file(dir / "folder/thesis.txt") == "ten years");
  CHECK(entries(dir.path()) == 4);
}

TEST_CASE("a store with files of somebody else is not replaced") {
  const TempDir dir;
  write_store(dir / "store", marked(1).contents);
  write_file(dir / "store/.notes", "these go with the store");
  write_store(dir / "store", marked(2).contents);
  write_file(dir / "store/best.pt", "a model");
  check_throws(ErrorCode::kInvalidArgument, {dir / "store", "'best.pt'", "not replaced"},
               [&] { write_store(dir / "store", marked(3).contents); });
  CHECK(read_file(dir / "store/best.pt") == "a model");
}

TEST_CASE("an empty folder is replaced, also by a link") {
  const TempDir dir;
  fs::create_directory(dir / "empty");
  fs::create_directory(dir / "other");
  fs::create_symlink("other", dir / "link");
  write_store(dir / "empty", marked(1).contents);
  write_store(dir / "link", marked(2).contents);
  CHECK(mark_of(dir / "empty") == 1);
  CHECK(mark_of(dir / "other") == 2);
  CHECK(entries(dir.path()) == 3);
}

TEST_CASE("folders around the target are made, and none by a look at it") {
  const TempDir dir;
  check_target(dir / "a/b/store/");
  CHECK(entries(dir.path()) == 0);
  write_store(dir / "a/b/store/", marked(1).contents);
  CHECK(mark_of(dir / "a/b/store") == 1);
  write_file(dir / "file", "text");
  check_throws(ErrorCode::kNotFound, {dir / "file"},
               [&] { write_store(dir / "file/store", marked(1).contents); });
}

TEST_CASE("no store is written into a store") {
  const TempDir dir;
  write_store(dir / "outer", marked(1).contents);
  fs::create_symlink("outer", dir / "link");
  for (const char* name : {"outer/inner", "outer/node/inner", "outer/new/inner", "link/inner"}) {
    const auto refused = [&](auto action) {
      check_throws(ErrorCode::kInvalidArgument, {"/inner lies in the store " + dir / "outer"},
                   action);
    };
    refused([&] { write_store(dir / name, marked(2).contents); });
    refused([&] { check_target(dir / name); });
  }
  CHECK(mark_of(dir / "outer") == 1);
}

TEST_CASE("the mode of the folder that is replaced is kept") {
  const TempDir dir;
  write_store(dir / "store", marked(1).contents);
  const auto usual = fs::status(dir / "store").permissions();
  write_store(dir / "store", marked(2).contents);
  CHECK(fs::status(dir / "store").permissions() == usual);
  for (const auto mode : {fs::perms(0700), fs::perms(0750)}) {
    fs::permissions(dir / "store", mode);
    WriteOptions options;
    options.before_commit = [](const std::string& folder) {
      CHECK(fs::status(folder).permissions() == fs::perms(0700));
    };
    write_store(dir / "store", marked(3).contents, options);
    CHECK(fs::status(dir / "store").permissions() == mode);
  }
}

TEST_CASE("a folder that comes in the way while a store is written is put back") {
  const TempDir dir;
  WriteOptions options;
  options.before_commit = [&](const std::string&) { write_file(dir / "store/thesis.txt", "x"); };
  check_throws(ErrorCode::kInvalidArgument, {"not a store"},
               [&] { write_store(dir / "store", marked(1).contents, options); });
  CHECK(read_file(dir / "store/thesis.txt") == "x");
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("bad targets") {
  const TempDir dir;
  const StoreContents contents = small_graph().contents;
  check_throws(ErrorCode::kInvalidArgument, {"empty"}, [&] { write_store("", contents); });
  check_throws(ErrorCode::kInvalidArgument, {"not a store"}, [&] { write_store("//", contents); });
  check_throws(ErrorCode::kInvalidArgument, {"NUL"},
               [&] { write_store(dir / std::string("a\0b", 3), contents); });
  check_throws(ErrorCode::kIo, {"long"},
               [&] { write_store(dir / std::string(300, 'n'), contents); });
}

TEST_CASE("bad contents are refused before anything is written") {
  const TempDir dir;
  const auto refused = [&](const std::vector<std::string>& words, const StoreContents& contents) {
    check_throws(ErrorCode::kInvalidArgument, words, [&] { write_store(dir / "s", contents); });
    check_throws(ErrorCode::kInvalidArgument, words, [&] { return make_segment(contents); });
  };
  int64_t value = 0;
  const auto one = [&](const std::string& name, std::vector<int64_t> shape) {
    StoreContents contents;
    contents.arrays.emplace_back(name, Array{&value, DType::kInt64, std::move(shape), {}, false});
    return contents;
  };
  refused({"three parts"}, one("node/a", {1}));
  refused({"three parts"}, one("node/a/b/c", {1}));
  refused({"neither"}, one("graph/a/b", {1}));
  refused({"begins with a dot"}, one("node/../b", {1}));
  refused({"part", "empty"}, one("node//b", {1}));
  refused({"252 bytes"}, one("node/a/" + std::string(252, 'b'), {1}));
  refused({"byte other than"}, one("node/a b/c", {1}));
  refused({"0 dimensions"}, one("node/a/b", {}));
  refused({"9 dimensions"}, one("node/a/b", std::vector<int64_t>(9, 1)));
  refused({"dimension of -1"}, one("node/a/b", {-1}));
  refused({"2^63"}, one("node/a/b", {0, int64_t{1} << 40, int64_t{1} << 40}));
  StoreContents contents = one("node/a/b", {1});
  contents.arrays.push_back(contents.arrays[0]);
  refused({"twice"}, contents);
  contents = one("node/a/b", {1});
  contents.arrays[0].second.data = nullptr;
  refused({"no data"}, contents);
  contents = {{{"a", -1}}, {}};
  refused({"-1 nodes"}, contents);
  contents = {{{"a__b", 1}}, {}};
  refused({"not an encoded name"}, contents);
  CHECK(entries(dir.path()) == 0);
}

TEST_CASE("the least of the memory and the limits of the control groups counts") {
  const TempDir dir;
  write_file(dir / "proc/meminfo",
             "MemTotal: 9000 kB\nHugePages_Total: 0\nMemAvailable: 1000 kB\n");
  CHECK(available_memory(dir.path()).bytes == 1'024'000);
  write_file(dir / "proc/self/cgroup", "4:cpu,memory:/job\n0::/user/me\n");
  CHECK(available_memory(dir.path()).bytes == 1'024'000);
  const std::string two = dir / "sys/fs/cgroup/user/";
  write_file(two + "memory.max", "900000\n");
  write_file(two + "memory.current", "500000\n");
  write_file(two + "memory.stat", "anon 1\ninactive_file 300000\nactive_file 50000\n");
  write_file(two + "me/memory.max", "max\n");
  write_file(two + "me/memory.current", "10\n");
  CHECK(available_memory(dir.path()).bytes == 750'000);
  const std::string one = dir / "sys/fs/cgroup/memory/";
  write_file(one + "memory.limit_in_bytes", "700000\n");
  write_file(one + "memory.usage_in_bytes", "800000\n");
  write_file(one + "memory.stat", "inactive_file 9\ntotal_inactive_file 200000\n");
  CHECK(available_memory(dir.path()).bytes == 100'000);
  check_throws(ErrorCode::kNoSpace, {"the thing", "100001 bytes", "100000 bytes", "cgroup"},
               [&] { require_memory(100'001, "the thing", dir.path()); });
}

TEST_CASE("of an array to be held in memory, what is there already is not asked for again") {
  const TempDir dir;
  write_file(dir / "proc/meminfo", "MemAvailable: 100 kB\n");
  constexpr int64_t kBytes = 1 << 20, kWritten = 950 << 10;
  const auto data = map_pages(kBytes, PROT_READ | PROT_WRITE);
  madvise(data.get(), kBytes, MADV_NOHUGEPAGE);
  const Array array{data.get(), DType::kUInt8, {kBytes}, data, true};
  check_throws(ErrorCode::kNoSpace, {"the table needs"},
               [&] { require_memory_to_hold(array, "the table", dir.path()); });
  std::memset(data.get(), 1, kWritten);
  require_memory_to_hold(array, "the table", dir.path());
}

TEST_CASE("progress counts up to all bytes, for folders and segments") {
  const TempDir dir;
  const OwnedContents contents = marked(1);
  std::vector<int64_t> seen;
  const Progress progress = [&](int64_t done, int64_t total) {
    CHECK(total == contents.contents.bytes());
    CHECK((seen.empty() || done >= seen.back()));
    seen.push_back(done);
  };
  write_store(dir / "s", contents.contents, {progress, {}});
  CHECK(seen.size() >= 4);
  CHECK(seen.back() == contents.contents.bytes());
  seen.clear();
  static_cast<void>(make_segment(contents.contents, progress));
  CHECK(seen.back() == contents.contents.bytes());
}

TEST_CASE("what throws while a store is written leaves the old one and nothing else") {
  const TempDir dir;
  write_store(dir / "store", marked(1).contents);
  int chunks = 0;
  WriteOptions stop_in_progress;
  stop_in_progress.progress = [&](int64_t, int64_t) {
    if (++chunks == 3) throw Interrupt{};
  };
  WriteOptions stop_at_end;
  stop_at_end.before_commit = [](const std::string&) { throw Interrupt{}; };
  CHECK_THROWS_AS(write_store(dir / "store", marked(2).contents, stop_in_progress), Interrupt);
  CHECK_THROWS_AS(write_store(dir / "store", marked(2).contents, stop_at_end), Interrupt);
  chunks = 0;
  CHECK_THROWS_AS(make_segment(marked(2).contents, stop_in_progress.progress), Interrupt);
  CHECK(mark_of(dir / "store") == 1);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("before_commit can add a file") {
  const TempDir dir;
  WriteOptions options;
  options.before_commit = [](const std::string& folder) {
    CHECK(fs::exists(folder + "/node/a/feat.npy"));
    write_file(folder + "/checksums.txt", "none");
  };
  write_store(dir / "store", marked(1).contents, options);
  CHECK(read_file(dir / "store/checksums.txt") == "none");
}

TEST_CASE("without the exchange of names, a store takes its place in two steps") {
  const TempDir dir;
  write_store(dir / "next", marked(2).contents);
  for (const bool replaces : {false, true}) {
    if (replaces) write_store(dir / "next", marked(3).contents);
    const Target target(dir / "store");
    const Fd old = take_place_in_two_steps(target, "next");
    CHECK(bool(old) == replaces);
    CHECK(mark_of(dir / "store") == (replaces ? 3 : 2));
    CHECK(entries(dir.path()) == (replaces ? 2 : 1));
  }
  CHECK(mark_of(dir / "next") == 2);
}

}  // namespace
}  // namespace ramet::test
