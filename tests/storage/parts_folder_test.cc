// Folders of several stores, which take their place as a whole.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "ramet/store_writer.h"
#include "support/errors.h"
#include "support/fork.h"
#include "support/marked_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"

namespace ramet::test {
namespace {

namespace fs = std::filesystem;

const std::string kText = "{\n  \"ramet-parts\": 1\n}\n";

void write_parts(const std::string& path, int mark, void (*before_commit)() = nullptr) {
  PartsFolder folder(path);
  for (const char* part : {"/part-0", "/part-1"})
    write_store(folder.temp() + part, marked(mark, 1).contents);
  write_file(folder.temp() + "/parts.json", kText);
  if (before_commit != nullptr) before_commit();
  folder.commit();
}

int64_t mark_of_part(const std::string& path) {
  return Store::open(path)->node_counts().at("a");
}

TEST_CASE("parts take their place together, and nothing else is left") {
  const TempDir dir;
  for (const int mark : {1, 2}) {
    write_parts(dir / "deep/saved", mark);
    CHECK(mark_of_part(dir / "deep/saved/part-0") == mark);
    CHECK(mark_of_part(dir / "deep/saved/part-1") == mark);
    CHECK(entries(dir / "deep") == 1);
    CHECK(entries(dir / "deep/saved") == 3);
  }
}

TEST_CASE("a folder of parts that is not finished leaves the one before") {
  const TempDir dir;
  write_parts(dir / "saved", 1);
  CHECK_THROWS_AS(write_parts(dir / "saved", 2, [] { throw 0; }), int);
  CHECK(mark_of_part(dir / "saved/part-1") == 1);
  CHECK(entries(dir.path()) == 1);
  PartsFolder folder(dir / "saved");
  write_store(folder.temp() + "/part-0", marked(3, 1).contents);
  CHECK(entries(dir.path()) == 2);
  folder.close();
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("a killed writer of parts leaves the folder before, and the next one cleans up") {
  const TempDir dir;
  write_parts(dir / "saved", 1);
  REQUIRE(is_killed_in_child(
      [&] { write_parts(dir / "saved", 2, [] { ::kill(::getpid(), SIGKILL); }); }));
  CHECK(mark_of_part(dir / "saved/part-1") == 1);
  CHECK(entries(dir.path()) == 2);
  write_parts(dir / "saved", 3);
  CHECK(mark_of_part(dir / "saved/part-1") == 3);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("the folder's mode stays") {
  const TempDir dir;
  write_parts(dir / "saved", 1);
  fs::permissions(dir / "saved", fs::perms(0750));
  write_parts(dir / "saved", 2);
  CHECK(fs::status(dir / "saved").permissions() == fs::perms(0750));
}

TEST_CASE("what is no folder of parts is not replaced, nor written into") {
  const TempDir dir;
  const auto refuses = [&](const std::string& name, const std::vector<std::string>& words) {
    check_throws(ErrorCode::kInvalidArgument, words, [&] { write_parts(dir / name, 1); });
  };
  write_store(dir / "store", marked(1, 1).contents);
  refuses("store", {"store is there and is not a folder of parts"});
  refuses("store/inner", {"lies in the store"});
  write_file(dir / "mine/notes.txt", "notes");
  refuses("mine", {"mine is there and is not a folder of parts"});
  write_parts(dir / "saved", 1);
  for (const char* name : {"notes.txt", "part-x", "part-01", "ramet.txt"}) {
    write_file(dir / "saved/" + name, "notes");
    refuses("saved", {name, "is no part of a folder of parts"});
    fs::remove(dir / "saved/" + name);
  }
  for (const char* name : {"part-0/notes.txt", "part-1/node/notes.txt", "part-1/node/a/notes.txt",
                           "part-1/node/a/b/x.npy", "part-2", "part-1/part-0/ramet.txt"}) {
    write_file(dir / "saved/" + name, "notes");
    refuses("saved", {"which is no part of a folder of parts"});
    CHECK(read_file(dir / "saved/" + name) == "notes");
    fs::remove_all(dir / "saved");
    write_parts(dir / "saved", 1);
  }
  write_file(dir / "store/node/a/notes.txt", "notes");
  check_throws(ErrorCode::kInvalidArgument,
               {"store/node/a holds 'notes.txt'", "no part of a store"},
               [&] { write_store(dir / "store", marked(1, 1).contents); });
  check_throws(ErrorCode::kInvalidArgument, {"saved is there and is not a store"},
               [&] { write_store(dir / "saved", marked(1, 1).contents); });
  fs::create_directory(dir / "empty");
  write_parts(dir / "empty", 1);
}

}  // namespace
}  // namespace ramet::test
