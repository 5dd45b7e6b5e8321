// Registration of host memory: shared, overlapping, released, and after a fork.
#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "cuda/errors.h"
#include "cuda/rows_fixture.h"
#include "kernels/cuda_backend.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "support/fork.h"

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

TEST_CASE("a refusal names the array, its size and the limit, and leaves nothing locked") {
  if (std::string(require_cuda().name) != "emulated") return;
  const Pages pages;
  const HostRegistration held(pages.bytes(3 * kPage, 3 * kPage + 1));
  const int64_t before = HostRegistration::registered_bytes();
  setenv("RAMET_EMULATOR_REFUSE_REGISTER", "1", 1);
  const std::string message =
      message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(3 * kPage, 5 * kPage)}; });
  unsetenv("RAMET_EMULATOR_REFUSE_REGISTER");
  CHECK(contains(message, "uint8[8192]"));
  CHECK(contains(message, "locked memory"));
  CHECK(HostRegistration::registered_bytes() == before);
}

TEST_CASE("memory that cannot be locked is a refusal, not a device that is full") {
  if (std::string(require_cuda().name) != "emulated") return;
  const Pages pages;
  setenv("RAMET_EMULATOR_REFUSE_REGISTER", "2", 1);
  const std::string message =
      message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(0, kPage)}; });
  unsetenv("RAMET_EMULATOR_REFUSE_REGISTER");
  CHECK(contains(message, "cudaErrorMemoryAllocation"));
  CHECK(contains(message, "locked memory"));
  CHECK(!contains(message, "of the device"));
}

TEST_CASE("threads register and release pages that they share") {
  const Pages pages;
  const int64_t before = HostRegistration::registered_bytes();
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t)
    threads.emplace_back([&pages, t] {
      for (int64_t i = 0; i < 200; ++i) {
        const int64_t begin = (i * 7 + t * 3) % 6 * kPage, end = begin + kPage + i % 3;
        const HostRegistration registration(pages.bytes(begin + t, end));
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
