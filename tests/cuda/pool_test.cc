// Buffers of a device go on when, and only when, the streams that used them have got there.
#include "ramet/cuda_memory.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "cuda/capture.h"
#include "cuda/on_host.h"
#include "cuda/registration_fixture.h"
#include "cuda/rows_fixture.h"
#include "device/event_cache.h"
#include "ramet/error.h"

using namespace ramet;

namespace {

constexpr int64_t kPoolBytes = 8 << 20;

Array allocate(DevicePool& pool, const CudaStream& stream, int64_t bytes = kPoolBytes) {
  return pool.on(stream.handle())->allocate_array(DType::kUInt8, {bytes});
}

// Work that takes a while.
void keep_busy(const CudaStream& stream, const Array& from, const Array& to) {
  runtime().fill(0, from.data, 0, from.bytes(), stream.handle());  // initcheck reports what is not
  for (int i = 0; i < 50; ++i)
    runtime().copy(0, to.data, from.data, from.bytes(), stream.handle());
}

bool is_all(const Array& array, uint8_t byte) {
  for (const uint8_t b : test::values_of<uint8_t>(array))
    if (b != byte) return false;
  return true;
}

}  // namespace

TEST_CASE("a buffer that a slow stream still reads is not overwritten by the next owner") {
  for (const bool is_named_later : {false, true}) {  // beside a stream that is done
    const auto pool = DevicePool::create(0);
    const CudaStream maker(0), consumer(0), other(0);
    const Array busy_from = allocate(*pool, consumer), busy_to = allocate(*pool, consumer);
    const Array result = allocate(*pool, consumer);
    Array batch = allocate(*pool, maker);
    const void* address = batch.data;
    runtime().fill(0, batch.data, 7, kPoolBytes, maker.handle());
    maker.synchronize();
    DevicePool::set_users(batch, {is_named_later ? other.handle() : consumer.handle()});
    if (is_named_later) DevicePool::add_user(batch, consumer.handle());
    keep_busy(consumer, busy_from, busy_to);
    runtime().copy(0, result.data, batch.data, kPoolBytes, consumer.handle());
    batch = {};
    const Array next = allocate(*pool, maker);
    CHECK(next.data == address);
    runtime().fill(0, next.data, 9, kPoolBytes, maker.handle());
    maker.synchronize();
    consumer.synchronize();
    CHECK(is_all(result, 7));
    CHECK(is_all(next, 9));
  }
}

TEST_CASE("buffers are used again, and a stream that is gone is not asked") {
  const auto pool = DevicePool::create(0);
  {
    const CudaStream maker(0);
    Array batch = allocate(*pool, maker);
    CHECK(batch.device == 0);
    CHECK(pool->bytes_in_use() >= kPoolBytes);
    maker.synchronize();
    DevicePool::set_users(batch, {});
  }
  CHECK(pool->bytes_in_use() == 0);
  CHECK(pool->bytes_idle() >= kPoolBytes);
  const CudaStream other(0);
  const Array again = allocate(*pool, other);
  CHECK(pool->bytes_idle() == 0);
}

TEST_CASE("events are used again, while streams wait for what was recorded before") {
  const auto pool = DevicePool::create(0);
  const CudaStream slow(0), idle(0), waiting(0);
  const Array from = allocate(*pool, slow), to = allocate(*pool, slow);
  const Array result = allocate(*pool, waiting);
  slow.synchronize();
  EventCache events(0);
  const CudaEventHandle event = events.take();
  keep_busy(slow, from, to);
  runtime().fill(0, to.data, 7, kPoolBytes, slow.handle());
  runtime().record(0, event, slow.handle());
  runtime().wait(0, waiting.handle(), event);
  events.give_back(event);
  REQUIRE(events.take() == event);
  runtime().record(0, event, idle.handle());
  runtime().copy(0, result.data, to.data, kPoolBytes, waiting.handle());
  runtime().wait_on_host(0, event);
  events.give_back(event);
  waiting.synchronize();
  CHECK(is_all(result, 7));
}

TEST_CASE("a buffer that dies while its stream is captured waits for the end of the capture") {
  const auto pool = DevicePool::create(0);
  const CudaStream maker(0), consumer(0);
  Array batch = allocate(*pool, maker);
  const void* const address = batch.data;
  maker.synchronize();
  DevicePool::set_users(batch, {consumer.handle()});
  test::Capture capture(consumer.handle());
  runtime().fill(0, batch.data, 7, 16, consumer.handle());  // of the graph
  batch = {};
  CHECK(pool->bytes_idle() == 0);
  const Array next = allocate(*pool, maker);  // in a thread that captures: it may allocate
  CHECK(next.data != address);
  runtime().fill(0, next.data, 9, kPoolBytes, maker.handle());
  maker.synchronize();
  CHECK(capture.end());
  const Array after = allocate(*pool, maker);
  CHECK(after.data == address);
  maker.synchronize();
}

TEST_CASE("a loader's thread makes batches while another thread captures a stream") {
  const auto pool = DevicePool::create(0);
  const CudaStream captured(0);
  test::Capture capture(captured.handle());
  std::thread([&] {
    const CudaStream stream(0), user(0);
    for (int step = 0; step < 3; ++step) {
      const Array batch = allocate(*pool, stream, kPoolBytes << step);  // of the device each time
      runtime().fill(0, batch.data, 5, 64, stream.handle());
      stream.synchronize();
      DevicePool::set_users(batch, {user.handle()});
      const auto pinned = create_pinned_pool()->allocate(4096);
    }
  }).join();
  CHECK(capture.end());
}

TEST_CASE("a stream that is captured gets no memory") {
  const auto pool = DevicePool::create(0);
  const CudaStream captured(0);
  test::Capture capture(captured.handle());
  CHECK_THROWS_WITH_AS(allocate(*pool, captured), doctest::Contains("captured into a graph"),
                       Error);
  CHECK(capture.end());
  CHECK(allocate(*pool, captured).data != nullptr);
}

// The engine's streams are marked by any thread. These stand for callers' streams.
class CallersStream {
 public:
  CallersStream() : handle_(runtime().create_stream(0)) {}
  ~CallersStream() { runtime().destroy_stream(0, handle_); }
  CallersStream(const CallersStream&) = delete;
  CallersStream& operator=(const CallersStream&) = delete;
  [[nodiscard]] CudaStreamHandle handle() const { return handle_; }

 private:
  CudaStreamHandle handle_;
};

TEST_CASE("what another thread releases is marked by the thread that named its stream") {
  const auto pool = DevicePool::create(0);
  const CudaStream maker(0);
  const CallersStream first, second;
  Array batch = allocate(*pool, maker);
  const void* const address = batch.data;
  maker.synchronize();
  DevicePool::set_users(batch, {first.handle()});
  std::thread([&] {
    DevicePool::add_user(batch, second.handle());  // which it may mark, but not the first
    batch = {};
    CHECK(allocate(*pool, maker).data != address);
  }).join();
  const Array next = allocate(*pool, maker), other = allocate(*pool, maker);
  CHECK((next.data == address) != (other.data == address));
}

TEST_CASE("of a thread that has ended, any other marks what its streams did") {
  const auto pool = DevicePool::create(0);
  const CudaStream maker(0);
  const CallersStream consumer;
  Array batch;
  std::thread([&] {
    batch = allocate(*pool, maker);
    DevicePool::set_users(batch, {consumer.handle()});
  }).join();
  batch = {};
  CHECK(pool->bytes_in_use() == 0);
}

TEST_CASE("what the engine's streams use is marked at once, whoever releases it") {
  const auto pool = DevicePool::create(0);
  {
    const CudaStream maker(0);
    Array batch = allocate(*pool, maker);
    std::thread([&] { batch = {}; }).join();
    CHECK(pool->bytes_in_use() == 0);
  }
  const CudaStream other(0);
  CHECK(allocate(*pool, other).data != nullptr);
}

TEST_CASE("captures may begin while another thread releases buffers") {
  constexpr int kCaptures = 20;
  const CallersStream captured;
  const CudaStream maker(0);
  const auto pool = DevicePool::create(0);
  const int64_t bytes_of_one = [&] {
    const Array one = allocate(*pool, maker, 256);
    return pool->bytes_in_use();
  }();
  int graphs = 0;
  for (int i = 0; i < kCaptures; ++i) {
    std::vector<Array> batches(16);
    for (Array& batch : batches) {
      batch = allocate(*pool, maker, 256);
      DevicePool::set_users(batch, {captured.handle()});
    }
    std::thread other([&] { batches.clear(); });
    test::Capture capture(captured.handle());
    if (i % 2 == 0) other.join();  // every other capture is over at once
    graphs += capture.end() ? 1 : 0;
    if (other.joinable()) other.join();
  }
  CHECK(graphs == kCaptures);
  const Array again = allocate(*pool, maker, 256);
  CHECK(pool->bytes_in_use() == bytes_of_one);
}

TEST_CASE("a pool that dies frees what waits for another thread") {
  const CallersStream stream;
  const int64_t before = runtime().free_bytes(0);
  {
    auto pool = DevicePool::create(0);
    Array batch = pool->on(stream.handle())->allocate_array(DType::kUInt8, {kPoolBytes});
    pool.reset();
    std::thread([&] { batch = {}; }).join();
  }
  if (test::is_emulated()) CHECK(runtime().free_bytes(0) == before);
}

TEST_CASE("a pool that dies after a capture frees what died in it") {
  const CudaStream stream(0);
  const int64_t before = runtime().free_bytes(0);
  {
    auto pool = DevicePool::create(0);
    Array batch = allocate(*pool, stream);
    test::Capture capture(stream.handle());
    batch = {};
    CHECK(capture.end());
  }
  if (test::is_emulated()) CHECK(runtime().free_bytes(0) == before);
}

TEST_CASE("an array that no pool owns has no users to set") {
  std::vector<uint8_t> bytes(10);
  const Array array{bytes.data(), DType::kUInt8, {10}, nullptr, true};
  DevicePool::set_users(array, {nullptr});
  DevicePool::add_user(array, nullptr);
}

TEST_CASE("memory that the device does not have is an error, and the pool goes on") {
  const auto pool = DevicePool::create(0);
  const CudaStream stream(0);
  CHECK_THROWS_AS(allocate(*pool, stream, int64_t{1} << 50), Error);
  (void)allocate(*pool, stream);
}

TEST_CASE("page-locked buffers are used again") {
  const auto pool = create_pinned_pool();
  Array array = pool->allocate_array(DType::kInt64, {1000});
  CHECK(array.device == kHost);
  const void* address = array.data;
  array = {};
  CHECK(pool->allocate_array(DType::kInt64, {1000}).data == address);
}
