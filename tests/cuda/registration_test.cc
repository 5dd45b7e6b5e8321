// Registration of host memory: shared, overlapping, in pieces, released, and after a fork.
#include <doctest/doctest.h>

#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/registration_fixture.h"
#include "cuda/rows_fixture.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "support/errors.h"
#include "support/fork.h"
#include "support/threads.h"

namespace ramet::test {
namespace {

int64_t locked() {
  return HostRegistration::registered_bytes();
}

TEST_CASE("an array is locked in whole pages until its last registration dies") {
  const Pages pages;
  const int64_t before = locked();
  {
    const HostRegistration first(pages.bytes(kPage + 5, 2 * kPage + 1));
    CHECK(locked() == before + 2 * kPage);
    CHECK(first.address(0) == pages.data.get() + kPage + 5);
    const HostRegistration again(pages.bytes(kPage + 5, 2 * kPage + 1));
    HostRegistration copy = first;
    CHECK(locked() == before + 2 * kPage);
    CHECK(pages.data.use_count() == 5);  // ours, three arrays and the pages' own
  }
  CHECK(locked() == before);
  CHECK(!pages.is_locked(kPage + 5));
  CHECK(pages.data.use_count() == 1);
}

TEST_CASE("arrays that share pages share what is locked, and lock the rest") {
  const Pages pages;
  const int64_t before = locked();
  HostRegistration middle(pages.bytes(2 * kPage, 3 * kPage + 10));  // pages 2 and 3
  HostRegistration last(pages.bytes(6 * kPage, 7 * kPage));         // page 6
  HostRegistration all(pages.bytes(100, 8 * kPage));
  CHECK(locked() == before + 8 * kPage);
  CHECK(all.address(0) == pages.data.get() + 100);
  middle = {};
  last = {};
  CHECK(locked() == before + 8 * kPage);
  HostRegistration inside(pages.bytes(3 * kPage + 1, 3 * kPage + 2));
  all = {};
  CHECK(locked() == before + 2 * kPage);
  CHECK(pages.is_locked(3 * kPage + 1));
  inside = {};
  CHECK(locked() == before);
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
  const int64_t before = locked();
  {
    const HostRegistration registration({pinned, DType::kUInt8, {2 * kPage}, nullptr, true});
    CHECK(locked() == before);
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
  check_throws(ErrorCode::kInvalidArgument, {"device 3"}, [&] { HostRegistration{there}; });
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
  check_throws(ErrorCode::kInvalidArgument, {"reading alone"},
               [&] { HostRegistration{pages.bytes(20, 2 * kPage, true)}; });
}

TEST_CASE("large memory is locked in pieces, which one call of the driver takes") {
  const Pages pages;
  const int64_t before = locked();
  const Setting limit("RAMET_EMULATOR_REGISTER_AT_ONCE", std::to_string(3 * kPage));
  const Array array = pages.bytes(100, 8 * kPage);
  if (is_emulated()) {
    check_throws(ErrorCode::kDevice, {"cannot page-lock 32768 bytes"},
                 [&] { HostRegistration{array}; });
  }
  {
    const HostRegistration registration(array, {.piece_bytes = 3 * kPage});
    CHECK(locked() == before + 8 * kPage);
    CHECK(registration.address(0) == pages.data.get() + 100);
    const HostRegistration same(array);  // the pieces that are there, whatever their size
    for (int64_t page = 0; page < 8; ++page)
      CHECK(pages.is_locked(page * kPage));
  }
  CHECK(locked() == before);
  for (int64_t page = 0; page < 8; ++page)
    CHECK(!pages.is_locked(page * kPage));
}

TEST_CASE("where a later piece is refused, the earlier ones are released") {
  if (!is_emulated()) return;
  const Pages pages;
  const HostRegistration held(pages.bytes(2 * kPage, 3 * kPage));
  const int64_t before = locked();
  const Setting limit("RAMET_EMULATOR_REGISTER_IN_ALL", std::to_string(before + 4 * kPage));
  const std::string message = message_of(ErrorCode::kDevice, [&] {
    HostRegistration{pages.bytes(0, 8 * kPage), {.piece_bytes = kPage}};
  });
  CHECK(contains(message, "cannot page-lock 4096 bytes of uint8[32768]"));
  CHECK(locked() == before);
  for (int64_t page = 0; page < 8; ++page)
    CHECK(pages.is_locked(page * kPage) == (page == 2));
}

TEST_CASE("progress ends with all bytes, and stops the call where it throws") {
  const Pages pages;
  const int64_t before = locked();
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
  CHECK(locked() == before);
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
  const int64_t before = locked();
  {
    const HostRegistration registration(others.bytes(0, kPage));
    CHECK(locked() == before + kPage);
  }
  std::thread same([&] {  // waits for the pages, and then shares them or locks them again
    const HostRegistration registration(pages.bytes(3 * kPage, 4 * kPage));
    if (!pages.is_locked(3 * kPage)) std::abort();
  });
  go_on.set_value();
  slow.join();
  same.join();
  CHECK(locked() == before);
}

TEST_CASE("pages at the ends of a gap that others have locked are left to them") {
  const Pages pages;
  char* const first = pages.data.get();
  // Neighbours whose pages reach into the array's first page and its last two.
  runtime().register_host(first, kPage, true);
  runtime().register_host(first + 6 * kPage, 2 * kPage, true);
  const int64_t before = locked();
  {
    const HostRegistration middle(pages.bytes(3 * kPage, 4 * kPage));
    const HostRegistration all(pages.bytes(10, 8 * kPage));
    CHECK(locked() == before + 5 * kPage);
    CHECK(all.address(0) == first + 10);
    for (int64_t page = 0; page < 8; ++page)
      CHECK(pages.is_locked(page * kPage));
  }
  CHECK(locked() == before);
  CHECK(pages.is_locked(0));
  CHECK(!pages.is_locked(kPage));
  CHECK(pages.is_locked(7 * kPage));
  runtime().unregister_host(first);
  runtime().unregister_host(first + 6 * kPage);
}

TEST_CASE("threads register and release pages that they share") {
  const Pages pages;
  const int64_t before = locked();
  in_threads(4, [&](int t) {
    for (int64_t i = 0; i < 200; ++i) {
      const int64_t begin = (i * 7 + t * 3) % 6 * kPage, end = begin + kPage + i % 3;
      const HostRegistration registration(pages.bytes(begin + t, end), {.piece_bytes = kPage});
      if (registration.address(0) != pages.data.get() + begin + t) std::abort();
    }
  });
  CHECK(locked() == before);
  CHECK(pages.data.use_count() == 1);
}

TEST_CASE("a forked child has no registrations, and releases none") {
  const Pages pages;
  auto registration = std::make_unique<HostRegistration>(pages.bytes(0, 10));
  CHECK(holds_in_child([&] {
    const bool is_empty = locked() == 0;
    const std::string message =
        message_of(ErrorCode::kDevice, [&] { HostRegistration{pages.bytes(0, 10)}; });
    registration.reset();
    return is_empty && contains(message, "fork");
  }));
  CHECK(pages.is_locked(0));
}

}  // namespace
}  // namespace ramet::test
