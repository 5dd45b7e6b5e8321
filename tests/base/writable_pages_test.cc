// Read-only pages of shared memory become writable for a scope, and no others do.
#include "base/system/writable_pages.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "base/system/posix.h"
#include "support/errors.h"
#include "support/mapped.h"
#include "support/temp_dir.h"

namespace ramet {
namespace {

using test::contains;

constexpr size_t kPage = 4096, kBytes = 8 * kPage;

Fd filled(int made) {
  Fd fd(made);
  REQUIRE(fd);
  const std::string bytes(kBytes, 'x');
  REQUIRE(::write(fd.get(), bytes.data(), kBytes) == ssize_t(kBytes));
  return fd;
}

Fd memory_file() {
  return filled(::memfd_create("ramet", MFD_CLOEXEC | MFD_ALLOW_SEALING));
}

Fd read_only(const Fd& fd) {
  return Fd(::open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDONLY | O_CLOEXEC));
}

struct Mapped {
  explicit Mapped(const Fd& fd, int flags = MAP_SHARED)
      : pages(test::map_pages(kBytes, PROT_READ, flags, fd.get())), data(pages.get()) {}
  [[nodiscard]] bool is_writable(size_t page) const {
    return mapping_at(data + page * kPage)->range.is_writable();
  }
  std::shared_ptr<char> pages;
  char* data;
};

// The thread sanitizer takes mapping pages anew for writing to them.
__attribute__((no_sanitize("thread"))) int64_t count_others(const volatile char* data) {
  int64_t count = 0;
  for (size_t i = 0; i < kBytes; i += 64)
    count += data[i] != 'x';
  return count;
}

TEST_CASE("pages of memory are writable for a scope, and the rest of the mapping is not") {
  const Fd fd = read_only(memory_file());
  const Mapped mapped(fd);
  for (int time = 0; time < 2; ++time) {
    {
      const WritablePages pages(mapped.data + 2 * kPage, 3 * kPage);
      CHECK(pages.why_not() == "");
      for (size_t page = 0; page < 8; ++page)
        CHECK(mapped.is_writable(page) == (page >= 2 && page < 5));
      mapped.data[2 * kPage + 1] = 'y';
    }
    for (size_t page = 0; page < 8; ++page)
      CHECK(!mapped.is_writable(page));
  }
  char byte = 0;
  CHECK(::pread(fd.get(), &byte, 1, 2 * kPage + 1) == 1);
  CHECK(byte == 'y');  // of the same memory
  CHECK(mapped.data[2 * kPage] == 'x');
}

TEST_CASE("who reads meanwhile sees the same bytes") {
  const Fd fd = read_only(memory_file());
  const Mapped mapped(fd);
  std::atomic<bool> is_over = false;
  std::atomic<int64_t> others = 0;
  std::thread reader([&] {
    while (!is_over)
      others += count_others(mapped.data);
  });
  for (int time = 0; time < 200; ++time) {
    const WritablePages pages(mapped.data, kBytes);
    CHECK(pages.why_not() == "");
  }
  is_over = true;
  reader.join();
  CHECK(others == 0);
}

TEST_CASE("a file of tmpfs is found by its name") {
  if (!std::filesystem::is_directory("/dev/shm")) return;
  char name[] = "/dev/shm/ramet-test writable XXXXXX";
  {
    const Fd made = filled(::mkstemp(name));
  }
  const Fd fd(::open(name, O_RDONLY | O_CLOEXEC));
  const Mapped mapped(fd);
  {
    const WritablePages pages(mapped.data, kBytes);
    CHECK(pages.why_not() == "");
    CHECK(mapped.is_writable(0));
  }
  CHECK(!mapped.is_writable(0));
  ::unlink(name);
}

TEST_CASE("sealed memory, files on a disk and private mappings are refused, and named") {
  const Fd made = memory_file();
  REQUIRE(::fcntl(made.get(), F_ADD_SEALS, F_SEAL_WRITE) == 0);
  const Fd sealed = read_only(made);
  const Mapped of_sealed(sealed);
  CHECK(
      contains(WritablePages(of_sealed.data, kBytes).why_not(), "cannot map for writing '/memfd"));
  const Fd memory = read_only(memory_file());
  const Mapped of_private(memory, MAP_PRIVATE);
  CHECK(contains(WritablePages(of_private.data, kBytes).why_not(), "is mapped privately"));
  const test::TempDir folder;
  const std::string path = folder / "feat.npy";
  const Fd file = filled(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  const Mapped of_file(read_only(file));
  const Mapping mapping = *mapping_at(of_file.data);
  const WritablePages pages(of_file.data, kBytes);
  CHECK((mapping.is_memory() || contains(pages.why_not(), "is on " + mapping.file_system)));
  for (const Mapped* mapped : {&of_sealed, &of_private})
    CHECK(!mapped->is_writable(0));
}

TEST_CASE("where later pages are refused, the earlier ones are read-only again") {
  const Fd made = memory_file();
  const Fd memory = read_only(made);
  const Mapped mapped(memory);
  REQUIRE(::mmap(mapped.data + 4 * kPage, kPage, PROT_READ, MAP_PRIVATE | MAP_FIXED, memory.get(),
                 0) != MAP_FAILED);
  const WritablePages pages(mapped.data, kBytes);
  CHECK(contains(pages.why_not(), "is mapped privately"));
  for (size_t page = 0; page < 8; ++page)
    CHECK(!mapped.is_writable(page));
}

}  // namespace
}  // namespace ramet
