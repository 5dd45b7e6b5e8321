// Pages are in the page tables afterwards, by whatever the kernel offers.
#include "base/system/populate.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/system/posix.h"
#include "ramet/error.h"
#include "support/mapped.h"

namespace ramet {
namespace {

constexpr int64_t kFreshPage = 4096;
constexpr int64_t kFreshBytes = (int64_t{40} << 20) + 3 * kFreshPage;  // of three pieces of work

// A mapped memory file that nobody has touched through this mapping.
struct FreshPages {
  explicit FreshPages(int64_t file_bytes = kFreshBytes) {
    const Fd fd(::memfd_create("populate", 0));
    REQUIRE(::ftruncate(fd.get(), file_bytes) == 0);
    pages = test::map_pages(kFreshBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get());
    data = pages.get();
  }

  // Pages in the page tables of this process (pagemap, bit 63).
  [[nodiscard]] int64_t pages_present() const {
    std::vector<uint64_t> entries(kFreshBytes / kFreshPage);
    const Fd fd(::open("/proc/self/pagemap", O_RDONLY));
    const auto at = static_cast<off_t>(reinterpret_cast<uintptr_t>(data) / kFreshPage * 8);
    const auto size = static_cast<ssize_t>(entries.size() * 8);
    REQUIRE(::pread(fd.get(), entries.data(), static_cast<size_t>(size), at) == size);
    return std::count_if(entries.begin(), entries.end(),
                         [](uint64_t entry) { return (entry >> 63) != 0; });
  }

  std::shared_ptr<char> pages;
  char* data;
};

template <int kError>
int failing(void*, size_t, int) {
  errno = kError;
  return -1;
}

std::atomic<int> calls = 0;

int interrupted(void* begin, size_t bytes, int advice) {
  if (calls++ % 2 == 1) return ::madvise(begin, bytes, advice);
  errno = EINTR;
  return -1;
}

TEST_CASE("every page is there, for any number of threads, for reading and writing") {
  for (const int threads : {1, 3}) {
    for (const bool writable : {false, true}) {
      const FreshPages mapped;
      CHECK(mapped.pages_present() == 0);
      populate(mapped.data, kFreshBytes, {.writable = writable, .threads = threads});
      CHECK(mapped.pages_present() == kFreshBytes / kFreshPage);
    }
  }
}

TEST_CASE("a kernel without the call, and one that a signal interrupts") {
  for (const auto advise : {failing<EINVAL>, interrupted}) {
    const FreshPages mapped;
    populate(mapped.data, kFreshBytes, {.advise = advise});
    CHECK(mapped.pages_present() == kFreshBytes / kFreshPage);
  }
}

TEST_CASE("pages that cannot be read are an error, not a signal") {
  const FreshPages mapped;
  CHECK_THROWS_WITH_AS(populate(mapped.data, kFreshBytes, {.advise = failing<EFAULT>}),
                       doctest::Contains("cut short"), Error);
}

TEST_CASE("a file that was cut short") {
  const FreshPages mapped(kFreshPage);
  errno = 0;
  const bool lacks = ::madvise(mapped.data, kFreshPage, 22) != 0 && errno == EINVAL;
  if (lacks) return;  // reading it would be the end of the process
  try {
    populate(mapped.data, kFreshBytes);
    FAIL("there are no such pages");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kIo);
    CHECK(error.system_errno() == EFAULT);
  }
}

}  // namespace
}  // namespace ramet
