// Writers that are killed, and writers at once: whole stores only, nothing left. docs/format.md,
// section 5.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "ramet/store_writer.h"
#include "storage/temp_folder.h"
#include "support/errors.h"
#include "support/fork.h"
#include "support/marked_store.h"
#include "support/store_fixture.h"
#include "support/temp_dir.h"
#include "support/threads.h"

namespace ramet::test {
namespace {

namespace fs = std::filesystem;

void kill_writer(const std::string& path, int mark, int at_call) {
  REQUIRE(is_killed_in_child([&] {
    int calls = 0;
    WriteOptions options;
    options.progress = [&](int64_t, int64_t) {
      if (++calls == at_call) ::kill(::getpid(), SIGKILL);
    };
    options.before_commit = [](const std::string&) { ::kill(::getpid(), SIGKILL); };
    write_store(path, marked(mark).contents, options);
  }));
}

TEST_CASE("a killed writer leaves no store or the old one, and the next writer cleans up") {
  const TempDir dir;
  for (const int at_call : {1, 2, 3, 4, 5, 99}) {
    kill_writer(dir / "store", 7, at_call);
    check_throws(ErrorCode::kNotFound, {dir / "store"}, [&] { return Store::open(dir / "store"); });
  }
  CHECK(entries(dir.path()) == 1);  // each killed writer has removed what its predecessor left
  write_store(dir / "store", marked(1).contents);
  CHECK(entries(dir.path()) == 1);
  kill_writer(dir / "store", 2, 3);
  CHECK(mark_of(dir / "store") == 1);
  CHECK(entries(dir.path()) == 2);
  write_store(dir / "store", marked(3).contents);
  CHECK(mark_of(dir / "store") == 3);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("only abandoned temporary folders of the same target are removed") {
  const TempDir dir;
  const std::string stale = ".store.ramet-tmp-12-0123456789abcdef";
  write_file(dir / stale + "/ramet.txt", "half");
  const char* const kept[] = {".other.ramet-tmp-12-0123456789abcdef",
                              ".store.ramet-tmp-12-0123456789abcde",
                              ".store.ramet-tmp-x-0123456789abcdef", ".store.ramet-tmp-notes"};
  for (const char* name : kept)
    fs::create_directory(dir / name);
  write_file(dir / ".store.ramet-tmp-12-fedcba9876543210", "a file");
  {
    const Target target(dir / "store");
    const TempFolder alive(target);
    write_store(dir / "store", marked(1).contents);
    CHECK(fs::exists(alive.path()));
  }
  CHECK(!fs::exists(dir / stale));
  for (const char* name : kept)
    CHECK(fs::exists(dir / name));
  CHECK(entries(dir.path()) == 6);
}

TEST_CASE("writers at once all succeed, and readers always find a whole store") {
  const TempDir dir;
  write_store(dir / "store", marked(1).contents);
  constexpr int kWriters = 3, kRounds = 5;
  for (int writer = 0; writer < kWriters; ++writer)
    start_child([&] {
      for (int i = 0; i < kRounds; ++i)
        write_store(dir / "store", marked(writer + 1).contents);
      return true;
    });
  int running = kWriters;
  while (running > 0) {
    CHECK(mark_of(dir / "store") >= 1);
    int status = 0;
    while (::waitpid(-1, &status, WNOHANG) > 0) {
      CHECK(status == 0);
      --running;
    }
  }
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("writers in threads of one process") {
  const TempDir dir;
  in_threads(3, [&](int writer) { write_store(dir / "store", marked(writer + 1).contents); });
  CHECK(mark_of(dir / "store") >= 1);
  CHECK(entries(dir.path()) == 1);
}

TEST_CASE("a file system that takes no more in the middle of a write") {
  const TempDir dir;
  CHECK(holds_in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{3 << 20, 3 << 20};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    try {
      write_store(dir / "store", marked(1).contents);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kIo && error.system_errno() == EFBIG;
    }
    return false;
  }));
  CHECK(entries(dir.path()) == 0);
}

}  // namespace
}  // namespace ramet::test
