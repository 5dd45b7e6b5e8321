// Registration of host memory: shared, overlapping, released, and after a fork.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/system/mapping.h"
#include "cuda/errors.h"
#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "support/fork.h"
#include "support/temp_dir.h"

namespace ramet {
namespace {

using test::contains;
using test::message_of;

constexpr int64_t kPage = 4096;

// Eight pages, and an Array of uint8 over some of their bytes.
struct Pages {
  std::shared_ptr<char> data{
      static_cast<char*>(
          mmap(nullptr, 8 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
      [](char* at) { munmap(at, 8 * kPage); }};

  Array bytes(int64_t begin, int64_t end, bool writable = false) const {
    return {data.get() + begin, DType::kUInt8, {end - begin}, data, writable};
  }
  bool is_locked(int64_t at) const { return runtime().is_page_locked(data.get() + at); }
};

TEST_CASE("an array is locked in whole pages until its last registration dies") {
  const Pages pages;
  const int64_t before = HostRegistration::registered_bytes();
  {
    const HostRegistration first(pages.bytes(kPage + 5, 2 * kPage + 1));
    CHECK(HostRegistration::registered_bytes() == before + 2 * kPage);
    CHECK(first.address(0) == pages.data.get() + kPage + 5);
    const HostRegistration again(pages.bytes(kPage + 5, 2 * kPage + 1));
    HostRegistration copy = first;
    CHECK(HostRegistration::registered_bytes() == before + 2 * kPage);
    CHECK(pages.data.use_count() == 5);  // ours, three arrays and the pages' own
  }
  CHECK(HostRegistration::registered_bytes() == before);
  CHECK(!pages.is_locked(kPage + 5));
  CHECK(pages.data.use_count() == 1);
}

TEST_CASE("arrays that share pages share what is locked, and lock the rest") {
  const Pages pages;
  const int64_t before = HostRegistration::registered_bytes();
  HostRegistration middle(pages.bytes(2 * kPage, 3 * kPage + 10));  // pages 2 and 3
  HostRegistration last(pages.bytes(6 * kPage, 7 * kPage));         // page 6
  HostRegistration all(pages.bytes(100, 8 * kPage));
  CHECK(HostRegistration::registered_bytes() == before + 8 * kPage);
  CHECK(all.address(0) == pages.data.get() + 100);
  middle = {};
  last = {};
  CHECK(HostRegistration::registered_bytes() == before + 8 * kPage);
  HostRegistration inside(pages.bytes(3 * kPage + 1, 3 * kPage + 2));
  all = {};
  CHECK(HostRegistration::registered_bytes() == before + 2 * kPage);
  CHECK(pages.is_locked(3 * kPage + 1));
  inside = {};
  CHECK(HostRegistration::registered_bytes() == before);
}

TEST_CASE("what lies in others' pages keeps their owner alive") {
  auto pages = std::make_unique<Pages>();
  const std::weak_ptr<char> memory = pages->data;
  Array borrowed = pages->bytes(10, 20);
  borrowed.owner = nullptr;
  HostRegistration first(pages->bytes(0, 100)), second(borrowed);
  pages.reset();
  first = {};
  CHECK(!memory.expired());
  second = {};
  CHECK(memory.expired());
}

TEST_CASE("memory that others have page-locked needs no registration") {
  void* const pinned = runtime().allocate_pinned(3 * kPage);
  const int64_t before = HostRegistration::registered_bytes();
  {
    const HostRegistration registration({pinned, DType::kUInt8, {2 * kPage}, nullptr, true});
    CHECK(HostRegistration::registered_bytes() == before);
    CHECK(registration.address(0) == pinned);
  }
  CHECK(runtime().is_page_locked(pinned));
  runtime().free_pinned(pinned);
}

TEST_CASE("arrays of no bytes, and of a device") {
  const HostRegistration nothing, empty({nullptr, DType::kInt64, {0, 5}, nullptr, false});
  CHECK(nothing.address(0) == nullptr);
  CHECK(empty.address(0) == nullptr);
  Array there = Pages().bytes(0, 10);
  there.device = 3;
  CHECK(contains(message_of(ErrorCode::kInvalidArgument, [&] { HostRegistration{there}; }),
                 "device 3"));
}

TEST_CASE("what is page-locked in part, or in pieces, is copied") {
  constexpr int64_t kBegin = 1000, kBytes = 5 * kPage;
  const Pages pages;
  for (int64_t i = 0; i < 8 * kPage; ++i)
    pages.data.get()[i] = static_cast<char>(i * 7 + i / 256);
  const HostRegistration first(pages.bytes(kPage, 2 * kPage, true)),
      next(pages.bytes(2 * kPage, 3 * kPage, true)),
      last(pages.bytes(4 * kPage + 1, 4 * kPage + 2, true));
  const DeviceBytes there(kBytes);
  const auto stream = runtime().create_stream(0);
  runtime().copy(0, there.get(), pages.data.get() + kBegin, kBytes, stream);
  const std::vector<char> back = there.read<char>();
  CHECK(std::equal(back.begin(), back.end(), pages.data.get() + kBegin));
  std::fill_n(pages.data.get(), 8 * kPage, '\0');
  runtime().copy(0, pages.data.get() + kBegin, there.get(), kBytes, stream);
  runtime().synchronize(0, stream);
  CHECK(std::equal(back.begin(), back.end(), pages.data.get() + kBegin));
  runtime().destroy_stream(0, stream);
}

TEST_CASE("pages that are locked for reading are not written") {
  const Pages pages;
  const HostRegistration reading(pages.bytes(0, 10));
  const HostRegistration other_page(pages.bytes(kPage, kPage + 1, true));
  CHECK(contains(message_of(ErrorCode::kInvalidArgument,
                            [&] { HostRegistration{pages.bytes(20, 2 * kPage, true)}; }),
                 "reading alone"));
}

// A condition of the emulator's machine for a scope.
class Setting {
 public:
  Setting(const char* name, const std::string& value) : name_(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Setting() { unsetenv(name_); }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;

 private:
  const char* name_;
};

bool is_emulated() {
  return std::string(require_cuda().name) == "emulated";
}

TEST_CASE("a refusal names the array and its size, and leaves nothing locked") {
  if (!is_emulated()) return;
  const Pages pages;
  const HostRegistration held(pages.bytes(3 * kPage, 3 * kPage + 1));
  const int64_t before = HostRegistration::registered_bytes();
  const Setting refuse("RAMET_EMULATOR_REFUSE_REGISTER", "1");
  const std::string message =
      message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(3 * kPage, 5 * kPage)}; });
  CHECK(contains(message, "cannot page-lock 4096 bytes of uint8[8192]"));
  CHECK(contains(message, "cudaErrorNotSupported"));
  CHECK(!contains(message, "RLIMIT"));
  CHECK(HostRegistration::registered_bytes() == before);
}

TEST_CASE("memory that cannot be locked is a refusal, not a device that is full") {
  if (!is_emulated()) return;
  const Pages pages;
  const HostRegistration held(pages.bytes(7 * kPage, 8 * kPage));
  const Setting refuse("RAMET_EMULATOR_REFUSE_REGISTER", "2");
  const std::string message =
      message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(0, kPage)}; });
  CHECK(contains(message, "cudaErrorMemoryAllocation"));
  CHECK(contains(message, "usual reason for memory without a file on a disk is its size"));
  CHECK(contains(message, std::to_string(HostRegistration::registered_bytes()) + " bytes of this"));
  CHECK(!contains(message, "of the device"));
}

// An Array over a file that is mapped with these flags.
Array map_file(int fd, int protection, int flags) {
  REQUIRE(ftruncate(fd, 4 * kPage) == 0);
  void* const data = mmap(nullptr, 4 * kPage, protection, flags, fd, 0);
  close(fd);
  REQUIRE(data != MAP_FAILED);
  return {data,
          DType::kUInt8,
          {4 * kPage},
          {data, [](void* at) { munmap(at, 4 * kPage); }},
          (protection & PROT_WRITE) != 0};
}

std::string refusal_of(const Array& array) {
  const Setting refuse("RAMET_EMULATOR_REFUSE_REGISTER", "1");
  return message_of(ErrorCode::kDevice, [&] { HostRegistration{array}; });
}

TEST_CASE("a refusal names its usual reason: the mapping, the file system, the size") {
  if (!is_emulated()) return;
  const test::TempDir folder;
  const std::string path = folder / "feat.npy";
  const auto open_file = [&] { return open(path.c_str(), O_RDWR | O_CREAT, 0600); };
  const auto memory_file = [] { return memfd_create("feat", 0); };
  const std::string in_private = refusal_of(map_file(open_file(), PROT_READ, MAP_PRIVATE));
  CHECK(contains(in_private, path + " is mapped privately"));
  CHECK(contains(in_private, "open the store read-only"));
  const Array shared = map_file(open_file(), PROT_READ, MAP_SHARED);
  const auto mapping = mapping_at(shared.data);
  REQUIRE(mapping);
  const std::string of_file = refusal_of(shared);
  if (mapping->is_memory()) {
    CHECK(contains(of_file, "is its size"));
  } else {
    CHECK(contains(of_file, path + " is on " + mapping->file_system));
    CHECK(contains(of_file, "for reading alone"));
    CHECK(contains(refusal_of(map_file(open_file(), PROT_READ | PROT_WRITE, MAP_SHARED)),
                   "for writing"));
  }
  CHECK(contains(refusal_of(map_file(memory_file(), PROT_READ, MAP_SHARED)), "is its size"));
}

// Of many machines: docs/cuda.md, "Refusals".
TEST_CASE("a driver that locks nothing for reading alone locks pages that could be written") {
  if (!is_emulated()) return;
  const Setting no_reading("RAMET_EMULATOR_REGISTER_READ_ONLY", "0");
  const int64_t before = HostRegistration::registered_bytes();
  const int fd = memfd_create("feat", MFD_CLOEXEC);
  const Array memory = map_file(dup(fd), PROT_READ, MAP_SHARED);
  for (int time = 0; time < 2; ++time) {
    const HostRegistration registration(memory, {.piece_bytes = kPage});
    CHECK(HostRegistration::registered_bytes() == before + 4 * kPage);
    CHECK(registration.address(0) == memory.data);
    CHECK(!mapping_at(memory.data)->range.is_writable());
  }
  close(fd);
  const Pages own;  // writable anyhow
  const HostRegistration of_own(own.bytes(0, kPage));
  const test::TempDir folder;
  const std::string path = folder / "feat.npy";
  const Array file = map_file(open(path.c_str(), O_RDWR | O_CREAT, 0600), PROT_READ, MAP_SHARED);
  if (mapping_at(file.data)->is_memory()) return;
  const std::string message = message_of(ErrorCode::kDevice, [&] { HostRegistration{file}; });
  CHECK(contains(message, "cudaErrorInvalidValue"));
  CHECK(contains(message, "for reading alone; a store in /dev/shm may be locked"));
}

TEST_CASE("large memory is locked in pieces, which one call of the driver takes") {
  const Pages pages;
  const int64_t before = HostRegistration::registered_bytes();
  const Setting limit("RAMET_EMULATOR_REGISTER_AT_ONCE", std::to_string(3 * kPage));
  const Array array = pages.bytes(100, 8 * kPage);
  if (is_emulated()) {
    CHECK(contains(message_of(ErrorCode::kDevice, [&] { HostRegistration{array}; }),
                   "cannot page-lock 32768 bytes"));
  }
  {
    const HostRegistration registration(array, {.piece_bytes = 3 * kPage});
    CHECK(HostRegistration::registered_bytes() == before + 8 * kPage);
    CHECK(registration.address(0) == pages.data.get() + 100);
    const HostRegistration same(array);  // the pieces that are there, whatever their size
    for (int64_t page = 0; page < 8; ++page)
      CHECK(pages.is_locked(page * kPage));
  }
  CHECK(HostRegistration::registered_bytes() == before);
  for (int64_t page = 0; page < 8; ++page)
    CHECK(!pages.is_locked(page * kPage));
}

TEST_CASE("where a later piece is refused, the earlier ones are released") {
  if (!is_emulated()) return;
  const Pages pages;
  const HostRegistration held(pages.bytes(2 * kPage, 3 * kPage));
  const int64_t before = HostRegistration::registered_bytes();
  const Setting limit("RAMET_EMULATOR_REGISTER_IN_ALL", std::to_string(before + 4 * kPage));
  const std::string message = message_of(ErrorCode::kDevice, [&] {
    HostRegistration{pages.bytes(0, 8 * kPage), {.piece_bytes = kPage}};
  });
  CHECK(contains(message, "cannot page-lock 4096 bytes of uint8[32768]"));
  CHECK(HostRegistration::registered_bytes() == before);
  for (int64_t page = 0; page < 8; ++page)
    CHECK(pages.is_locked(page * kPage) == (page == 2));
}

TEST_CASE("progress ends with all bytes, and stops the call where it throws") {
  const Pages pages;
  const int64_t before = HostRegistration::registered_bytes();
  std::vector<int64_t> seen;
  const auto note = [&](int64_t done, int64_t total) {
    CHECK(total == 8 * kPage);
    if (!seen.empty()) CHECK(done >= seen.back());
    seen.push_back(done);
  };
  {
    const HostRegistration registration(pages.bytes(0, 8 * kPage),
                                        {.progress = note, .piece_bytes = 3 * kPage});
    CHECK(seen.front() == 3 * kPage);
    CHECK(seen.back() == 8 * kPage);
  }
  const auto stop = [](int64_t done, int64_t) {
    if (done > 4 * kPage) throw Error(ErrorCode::kIo, "stopped");
  };
  CHECK(message_of(ErrorCode::kIo, [&] {
          HostRegistration{pages.bytes(0, 8 * kPage), {.progress = stop, .piece_bytes = kPage}};
        }) == "stopped");
  CHECK(HostRegistration::registered_bytes() == before);
}

TEST_CASE("while pages are being locked, others are registered, counted and released") {
  const Pages pages, others;
  std::promise<void> started, go_on;
  const auto wait = [&, first = true](int64_t, int64_t) mutable {
    if (!std::exchange(first, false)) return;
    started.set_value();
    go_on.get_future().wait();
  };
  std::thread slow([&] {
    const HostRegistration registration(pages.bytes(0, 8 * kPage), {.progress = wait});
    if (registration.address(0) != pages.data.get()) std::abort();
  });
  started.get_future().wait();
  const int64_t before = HostRegistration::registered_bytes();
  {
    const HostRegistration registration(others.bytes(0, kPage));
    CHECK(HostRegistration::registered_bytes() == before + kPage);
  }
  std::thread same([&] {  // waits for the pages, and then shares them or locks them again
    const HostRegistration registration(pages.bytes(3 * kPage, 4 * kPage));
    if (!pages.is_locked(3 * kPage)) std::abort();
  });
  go_on.set_value();
  slow.join();
  same.join();
  CHECK(HostRegistration::registered_bytes() == before);
}

TEST_CASE("pages at the ends of a gap that others have locked are left to them") {
  const Pages pages;
  char* const first = pages.data.get();
  // Neighbours whose pages reach into the array's first page and its last two.
  runtime().register_host(first, kPage, true);
  runtime().register_host(first + 6 * kPage, 2 * kPage, true);
  const int64_t before = HostRegistration::registered_bytes();
  {
    const HostRegistration middle(pages.bytes(3 * kPage, 4 * kPage));
    const HostRegistration all(pages.bytes(10, 8 * kPage));
    CHECK(HostRegistration::registered_bytes() == before + 5 * kPage);
    CHECK(all.address(0) == first + 10);
    for (int64_t page = 0; page < 8; ++page)
      CHECK(pages.is_locked(page * kPage));
  }
  CHECK(HostRegistration::registered_bytes() == before);
  CHECK(pages.is_locked(0));
  CHECK(!pages.is_locked(kPage));
  CHECK(pages.is_locked(7 * kPage));
  runtime().unregister_host(first);
  runtime().unregister_host(first + 6 * kPage);
}

TEST_CASE("threads register and release pages that they share") {
  const Pages pages;
  const int64_t before = HostRegistration::registered_bytes();
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&pages, t] {
      for (int64_t i = 0; i < 200; ++i) {
        const int64_t begin = (i * 7 + t * 3) % 6 * kPage, end = begin + kPage + i % 3;
        const HostRegistration registration(pages.bytes(begin + t, end), {.piece_bytes = kPage});
        if (registration.address(0) != pages.data.get() + begin + t) std::abort();
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(HostRegistration::registered_bytes() == before);
  CHECK(pages.data.use_count() == 1);
}

TEST_CASE("a forked child has no registrations, and releases none") {
  const Pages pages;
  auto registration = std::make_unique<HostRegistration>(pages.bytes(0, 10));
  CHECK(test::holds_in_child([&] {
    const bool is_empty = HostRegistration::registered_bytes() == 0;
    const std::string message =
        message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(0, 10)}; });
    registration.reset();
    return is_empty && contains(message, "fork");
  }));
  CHECK(pages.is_locked(0));
}

}  // namespace
}  // namespace ramet
