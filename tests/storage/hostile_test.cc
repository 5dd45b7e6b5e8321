// Damaged folders: an Error or a store whose every byte can be read, never a signal.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>

#include "ramet/store.h"
#include "ramet/store_writer.h"
#include "support/damage.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

namespace fs = std::filesystem;

const char* const kFeat = "node/paper/feat.npy";

TEST_CASE("hundreds of damaged folders") {
  const TempDir dir;
  write_store(dir / "store", small_graph().contents);
  CHECK(count_found(dir / "store", 600, 3, [&] { return Store::open(dir / "store"); }) > 300);
  check_equal(*Store::open(dir / "store"), small_graph().contents);
}

TEST_CASE("no store") {
  const TempDir dir;
  const auto open = [](const std::string& path) { return [path] { return Store::open(path); }; };
  check_throws(ErrorCode::kNotFound, {dir / "missing"}, open(dir / "missing"));
  check_throws(ErrorCode::kNotFound, {dir.path(), "not a store", "ramet.txt"}, open(dir.path()));
  write_file(dir / "file", "");
  check_throws(ErrorCode::kCorrupt, {dir / "file", "not a folder"}, open(dir / "file"));
  check_throws(ErrorCode::kNotFound, {dir / "file/store"}, open(dir / "file/store"));
  check_throws(ErrorCode::kInvalidArgument, {"empty"}, open(""));
  check_throws(ErrorCode::kInvalidArgument, {"NUL"}, open(std::string("a\0b", 3)));
  fs::create_symlink("loop", dir / "loop");
  check_throws(ErrorCode::kIo, {dir / "loop"}, open(dir / "loop"));
}

TEST_CASE("ramet.txt") {
  const Broken store;
  const auto with = [&](const std::string& text, const std::vector<std::string>& words) {
    store.with("ramet.txt", text, words);
  };
  with("", {store / "ramet.txt", "not a store"});
  with("graph 1\n", {"graph 1", "not a store"});
  with("ramet-store 2\nsomething new\n", {"line 1", "version '2'", "reads version 1"});
  with("ramet-store \n", {"line 1", "version ''"});
  with("ramet-store 01\n", {"version '01'"});
  with("ramet-store 1", {"does not end"});
  with("ramet-store 1\nnode paper 4", {"does not end"});
  with("ramet-store 1\nnode paper\n", {"line 2", "unknown line 'node paper'"});
  with("ramet-store 1\n\n", {"line 2", "unknown line ''"});
  with("ramet-store 1\nnode  paper 4\n", {"unknown line"});
  with("ramet-store 1\nnode paper 4 \n", {"unknown line"});
  with("ramet-store 1\r\nnode paper 4\r\n", {"version '1\\x0d'"});
  with("ramet-store 1\nnode paper 4\nnode paper 5\n", {"line 3", "'paper'", "twice"});
  with("ramet-store 1\nnode _paper 4\n", {"line 2", "'_paper'", "encoded name"});
  with("ramet-store 1\nnode \xff 4\n", {"\\xff"});
  for (const char* count :
       {"-4", "+4", "04", "4.0", "x", "0x4", "99999999999999999999", "4611686018427387905"})
    with(std::string("ramet-store 1\nnode paper ") + count + "\n", {"line 2", count, "2^62"});
  with("ramet-store 1\nid 1\n", {"line 2", "id '1'", "16 hexadecimal digits"});
  with("ramet-store 1\nid 0123456789abcdeF\n", {"id '0123456789abcdeF'"});
  with("ramet-store 1\nid 0123456789abcdef\nid 0123456789abcdef\n", {"line 3", "second"});
  with("ramet-store 1\narray node/paper/feat <f4 1 4096\n", {"unknown line"});
  with(std::string((16 << 20) + 1, 'x'), {"16777217 bytes", "at most 16777216"});
}

TEST_CASE("files that do not belong") {
  const auto added = [](const std::string& name, const std::vector<std::string>& words) {
    const Broken store;
    store.with(name, "?", words);
  };
  added("notes.txt", {"notes.txt", "no part of a store"});
  added("graph/paper/feat.npy", {"graph", "no part of a store"});
  added("node/feat.npy", {"node/feat.npy", "not a folder"});
  added("node/paper/notes.txt", {"notes.txt", "no part of a store"});
  added("node/paper/npy", {"'npy'", "no part of a store"});
  added("node/paper/year.npy/deeper", {"year.npy", "not a regular file"});
  added("node/paper/a b.npy", {"'node/paper/a b'", "byte other than"});
  added("node/pa\npe\xffr/feat.npy", {"node/pa\\x0ape\\xffr"});
}

TEST_CASE("what is not a file") {
  const Broken store;
  fs::remove(store / kFeat);
  REQUIRE(::mkfifo((store / kFeat).c_str(), 0600) == 0);
  store.is(ErrorCode::kCorrupt, {store / kFeat, "not a regular file"});
  fs::remove(store / kFeat);
  fs::create_symlink("/dev/zero", store / kFeat);
  store.is(ErrorCode::kCorrupt, {store / kFeat, "not a regular file"});
  fs::remove(store / kFeat);
  fs::create_symlink("nowhere", store / kFeat);
  store.is(ErrorCode::kNotFound, {store / kFeat});
  fs::remove(store / kFeat);
  fs::remove(store / "ramet.txt");
  REQUIRE(::mkfifo((store / "ramet.txt").c_str(), 0600) == 0);
  store.is(ErrorCode::kCorrupt, {store / "ramet.txt", "not a regular file"});
}

}  // namespace
}  // namespace ramet::test
