// The runtime behind the seam: memory, streams, events, registration, and what errors say.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda_backend.h"
#include "ramet/error.h"

using namespace ramet;

namespace {

const CudaRuntime& cuda() {
  return require_cuda().runtime;
}

// The message of the Error that body() throws, or nothing.
template <typename Body>
std::string message_from(Body body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

bool has_text(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Page-locked bytes, for copies that do not wait.
struct Pinned {
  explicit Pinned(int64_t bytes) : data(static_cast<uint8_t*>(cuda().allocate_pinned(bytes))) {}
  ~Pinned() { cuda().free_pinned(data); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  uint8_t* data;
};

// Whole pages, so that the ranges of two tests never share one.
struct RuntimePages {
  explicit RuntimePages(size_t bytes)
      : data(static_cast<uint8_t*>(std::aligned_alloc(4096, bytes))) {}
  ~RuntimePages() { std::free(data); }
  RuntimePages(const RuntimePages&) = delete;
  RuntimePages& operator=(const RuntimePages&) = delete;
  uint8_t* data;
};

}  // namespace

TEST_CASE("devices are described, and one that does not exist is named") {
  const int count = cuda().num_devices();
  REQUIRE(count >= 1);
  const CudaDevice device = cuda().describe(0);
  CHECK(!device.name.empty());
  CHECK(device.num_sms > 0);
  CHECK(cuda().free_bytes(0) > 0);
  CHECK(cuda().free_bytes(0) <= device.total_bytes);
  CHECK(device.pci_bus_id.size() == 12);
  CHECK(cuda().versions().build >= 12000);
  const auto message = message_from([&] { cuda().describe(count); });
  CHECK(has_text(message, "device " + std::to_string(count)));
  CHECK(has_text(message, "there are " + std::to_string(count) + " devices"));
}

TEST_CASE("bytes go to the device and back, on a stream") {
  constexpr int64_t kBytes = 1 << 16;
  Pinned from(kBytes);
  Pinned to(kBytes);
  for (int64_t i = 0; i < kBytes; ++i)
    from.data[i] = uint8_t(i * 7);
  void* there = cuda().allocate(0, kBytes);
  CHECK(reinterpret_cast<uintptr_t>(there) % 256 == 0);
  const auto stream = cuda().create_stream(0);
  cuda().copy(0, there, from.data, kBytes, stream);
  cuda().fill(0, static_cast<uint8_t*>(there) + 16, 0x5c, 32, stream);
  cuda().copy(0, to.data, there, kBytes, stream);
  cuda().synchronize(0, stream);
  for (int64_t i = 0; i < kBytes; ++i)
    REQUIRE(to.data[i] == (i >= 16 && i < 48 ? 0x5c : uint8_t(i * 7)));
  cuda().destroy_stream(0, stream);
  cuda().free(0, there);
}

TEST_CASE("copies of ordinary memory are done when the call returns") {
  void* there = cuda().allocate(0, 1024);
  const auto stream = cuda().create_stream(0);
  std::vector<uint8_t> back(1024);
  {
    const std::vector<uint8_t> values(1024, 9);
    cuda().copy(0, there, values.data(), 1024, stream);
  }
  cuda().copy(0, back.data(), there, 1024, stream);
  CHECK(back == std::vector<uint8_t>(1024, 9));
  cuda().copy(0, there, nullptr, 0, stream);  // nothing
  cuda().destroy_stream(0, stream);
  cuda().free(0, there);
}

TEST_CASE("a stream waits for an event of another") {
  constexpr int64_t kBytes = 8 << 20;
  void* there = cuda().allocate(0, kBytes);
  Pinned back(kBytes);
  const auto first = cuda().create_stream(0);
  const auto second = cuda().create_stream(0);
  const auto filled = cuda().create_event(0);
  const auto copied = cuda().create_event(0);
  for (int round = 0; round < 4; ++round) {
    cuda().fill(0, there, uint8_t(round + 1), kBytes, first);
    cuda().record(0, filled, first);
    cuda().wait(0, second, filled);
    cuda().copy(0, back.data, there, kBytes, second);
    cuda().record(0, copied, second);
    cuda().wait_on_host(0, copied);
    REQUIRE(back.data[0] == round + 1);
    REQUIRE(back.data[kBytes - 1] == round + 1);
  }
  for (const auto event : {filled, copied})
    cuda().destroy_event(0, event);
  for (const auto stream : {first, second})
    cuda().destroy_stream(0, stream);
  cuda().free(0, there);
}

TEST_CASE("too much memory is refused with the numbers, and the device goes on") {
  constexpr int64_t kBytes = int64_t{1} << 46;
  try {
    cuda().allocate(0, kBytes);
    FAIL("allocated 64 TiB");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::kNoSpace);
    CHECK(has_text(error.what(), std::to_string(kBytes) + " bytes"));
    CHECK(has_text(error.what(), "are free"));
  }
  cuda().free(0, cuda().allocate(0, 1 << 20));
}

TEST_CASE("registered memory has an address on the device; twice is refused") {
  constexpr int64_t kBytes = 1 << 16;
  const RuntimePages pages(kBytes);
  cuda().register_host(pages.data, kBytes, true);
  CHECK(cuda().device_address(0, pages.data + 100) != nullptr);
  CHECK(cuda().is_page_locked(pages.data + kBytes - 1));
  const auto message = message_from([&] { cuda().register_host(pages.data, 4096, true); });
  CHECK(has_text(message, "registering writable host memory"));
  CHECK(has_text(message, "4096 bytes"));
  cuda().unregister_host(pages.data);
  CHECK(!cuda().is_page_locked(pages.data));
  cuda().unregister_host(pages.data);  // an error, without a word
  CHECK(!message_from([&] { static_cast<void>(cuda().device_address(0, pages.data)); }).empty());
  cuda().register_host(pages.data, kBytes, true);  // and it is not in the way
  cuda().unregister_host(pages.data);
}

TEST_CASE("a forked child is told so") {
  void* there = cuda().allocate(0, 64);
  cuda().synchronize_all(0);  // joins the emulator's threads of streams that are destroyed
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    cuda().free(0, there);  // the parent's: nothing happens
    const auto message = message_from([] { cuda().num_devices(); });
    const bool told = has_text(message, std::to_string(parent)) && has_text(message, "fork");
    _exit(told && message_from([] { cuda().create_stream(0); }) == message ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  cuda().free(0, there);
}
