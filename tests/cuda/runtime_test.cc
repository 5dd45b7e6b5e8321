// The runtime behind the seam: memory, streams, events, registration, and what errors say.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cuda/rows_fixture.h"
#include "ramet/cuda_memory.h"
#include "ramet/error.h"
#include "support/errors.h"
#include "support/fork.h"
#include "support/mapped.h"

using namespace ramet;

namespace {

// Page-locked bytes, for copies that do not wait.
struct Pinned {
  explicit Pinned(int64_t bytes) : data(static_cast<uint8_t*>(runtime().allocate_pinned(bytes))) {}
  ~Pinned() { runtime().free_pinned(data); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  uint8_t* data;
};

}  // namespace

TEST_CASE("devices are described, and one that does not exist is named") {
  const int count = runtime().num_devices();
  REQUIRE(count >= 1);
  const CudaDevice device = runtime().describe(0);
  CHECK(!device.name.empty());
  CHECK(device.num_sms > 0);
  CHECK(runtime().free_bytes(0) > 0);
  CHECK(runtime().free_bytes(0) <= device.total_bytes);
  CHECK(device.pci_bus_id.size() == 12);
  CHECK(runtime().versions().build >= 12000);
  const std::string number = std::to_string(count);
  test::check_throws(ErrorCode::kDevice, {"device " + number, "there are " + number + " devices"},
                     [&] { return runtime().describe(count); });
}

TEST_CASE("bytes go to the device and back, on a stream") {
  constexpr int64_t kBytes = 1 << 16;
  Pinned from(kBytes);
  Pinned to(kBytes);
  for (int64_t i = 0; i < kBytes; ++i)
    from.data[i] = uint8_t(i * 7);
  const DeviceBytes there(kBytes);
  CHECK(reinterpret_cast<uintptr_t>(there.get()) % 256 == 0);
  const CudaStream stream(0);
  runtime().copy(0, there.get(), from.data, kBytes, stream.handle());
  runtime().fill(0, there.as<uint8_t>() + 16, 0x5c, 32, stream.handle());
  runtime().copy(0, to.data, there.get(), kBytes, stream.handle());
  stream.synchronize();
  for (int64_t i = 0; i < kBytes; ++i)
    REQUIRE(to.data[i] == (i >= 16 && i < 48 ? 0x5c : uint8_t(i * 7)));
}

TEST_CASE("copies of ordinary memory are done when the call returns") {
  const DeviceBytes there(1024);
  const CudaStream stream(0);
  std::vector<uint8_t> back(1024);
  {
    const std::vector<uint8_t> values(1024, 9);
    runtime().copy(0, there.get(), values.data(), 1024, stream.handle());
  }
  runtime().copy(0, back.data(), there.get(), 1024, stream.handle());
  CHECK(back == std::vector<uint8_t>(1024, 9));
  runtime().copy(0, there.get(), nullptr, 0, stream.handle());  // nothing
}

TEST_CASE("a stream waits for an event of another") {
  constexpr int64_t kBytes = 8 << 20;
  const DeviceBytes there(kBytes);
  Pinned back(kBytes);
  const CudaStream first(0), second(0);
  const auto filled = runtime().create_event(0);
  const auto copied = runtime().create_event(0);
  for (int round = 0; round < 4; ++round) {
    runtime().fill(0, there.get(), uint8_t(round + 1), kBytes, first.handle());
    runtime().record(0, filled, first.handle());
    runtime().wait(0, second.handle(), filled);
    runtime().copy(0, back.data, there.get(), kBytes, second.handle());
    runtime().record(0, copied, second.handle());
    runtime().wait_on_host(0, copied);
    REQUIRE(back.data[0] == round + 1);
    REQUIRE(back.data[kBytes - 1] == round + 1);
  }
  for (const auto event : {filled, copied})
    runtime().destroy_event(0, event);
}

TEST_CASE("too much memory is refused with the numbers, and the device goes on") {
  constexpr int64_t kBytes = int64_t{1} << 46;
  test::check_throws(ErrorCode::kNoSpace, {std::to_string(kBytes) + " bytes", "are free"},
                     [&] { return runtime().allocate(0, kBytes); });
  runtime().free(0, runtime().allocate(0, 1 << 20));
}

TEST_CASE("registered memory has an address on the device; twice is refused") {
  constexpr int64_t kBytes = 1 << 16;
  const auto pages = test::map_pages(kBytes, PROT_READ | PROT_WRITE);
  runtime().register_host(pages.get(), kBytes, true);
  CHECK(runtime().device_address(0, pages.get() + 100) != nullptr);
  CHECK(runtime().is_page_locked(pages.get() + kBytes - 1));
  test::check_throws(ErrorCode::kDevice, {"registering writable host memory", "4096 bytes"},
                     [&] { runtime().register_host(pages.get(), 4096, true); });
  runtime().unregister_host(pages.get());
  CHECK(!runtime().is_page_locked(pages.get()));
  runtime().unregister_host(pages.get());  // an error, without a word
  CHECK_THROWS_AS(runtime().device_address(0, pages.get()), Error);
  runtime().register_host(pages.get(), kBytes, true);  // and it is not in the way
  runtime().unregister_host(pages.get());
}

TEST_CASE("a forked child is told so") {
  void* there = runtime().allocate(0, 64);
  runtime().synchronize_all(0);  // joins the emulator's threads of streams that are destroyed
  const pid_t parent = getpid();
  CHECK(test::holds_in_child([&] {
    runtime().free(0, there);  // the parent's: nothing happens
    const auto message_from = [](auto call) { return test::message_of(ErrorCode::kDevice, call); };
    const auto message = message_from([] { return runtime().num_devices(); });
    return test::contains(message, std::to_string(parent)) && test::contains(message, "fork") &&
           message_from([] { return runtime().create_stream(0); }) == message;
  }));
  runtime().free(0, there);
}
