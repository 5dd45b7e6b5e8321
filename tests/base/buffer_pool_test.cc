#include "ramet/buffer_pool.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <future>
#include <thread>
#include <vector>

#include "base/free_list.h"
#include "ramet/error.h"
#include "ramet/random.h"
#include "support/fork.h"
#include "support/patience.h"

using namespace ramet;

TEST_CASE("a buffer returns to the pool when its last owner dies, and is used again") {
  const auto pool = BufferPool::create();
  void* first = nullptr;
  {
    const Array array = pool->allocate_array(DType::kFloat32, {1000, 100});
    const Array copy_of_array = array;
    first = array.data;
    std::memset(array.data, 1, static_cast<size_t>(array.bytes()));
    CHECK(reinterpret_cast<uintptr_t>(first) % 64 == 0);
    CHECK(pool->bytes_in_use() >= array.bytes());
    CHECK(pool->bytes_idle() == 0);
  }
  CHECK(pool->bytes_in_use() == 0);
  CHECK(pool->bytes_idle() >= 400'000);
  CHECK(pool->allocate(399'000).get() == first);
}

TEST_CASE("a pool keeps little more than was in use at its peak") {
  const auto pool = BufferPool::create();
  int64_t peak = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const auto bytes = static_cast<int64_t>(4096 + uniform_below(absorb(3, i), 1 << 20));
    const auto one = pool->allocate(bytes), other = pool->allocate(bytes / 7);
    peak = std::max(peak, pool->bytes_in_use());
    REQUIRE(pool->bytes_in_use() + pool->bytes_idle() <= peak + peak / 4);
  }
  CHECK(pool->bytes_in_use() == 0);
}

TEST_CASE("large buffers lie where huge pages can") {
  const auto pool = BufferPool::create();
  for (const int64_t mebibytes : {2, 3, 5, 64}) {
    const auto buffer = pool->allocate(mebibytes << 20);
    CHECK(reinterpret_cast<uintptr_t>(buffer.get()) % (2 << 20) == 0);
    std::memset(buffer.get(), 1, static_cast<size_t>(mebibytes << 20));
  }
}

TEST_CASE("sizes on both sides of a class border share a buffer") {
  const auto pool = BufferPool::create();
  const void* const first = pool->allocate(5'300'000).get();
  for (const int64_t bytes : {4'300'000, 5'300'000, 4'300'000})
    CHECK(pool->allocate(bytes).get() == first);
  CHECK(pool->allocate(2'000'000).get() != first);
}

TEST_CASE("buffers outlive the pool's creator and die on any thread") {
  auto pool = BufferPool::create();
  std::vector<std::shared_ptr<void>> buffers;
  for (int i = 0; i < 100; ++i)
    buffers.push_back(pool->allocate(10'000));
  pool.reset();
  std::thread([buffers = std::move(buffers)]() mutable { buffers.clear(); }).join();
}

TEST_CASE("no memory is an error") {
  CHECK_THROWS_AS(BufferPool::create()->allocate(int64_t{1} << 55), Error);
  for (const std::vector<int64_t>& shape :
       std::vector<std::vector<int64_t>>{{int64_t{1} << 61}, {1 << 30, 1 << 30, 16}, {-1}}) {
    CHECK_THROWS_AS(BufferPool::create()->allocate_array(DType::kInt64, shape), Error);
  }
}

TEST_CASE("a forked child reads and drops its parent's buffers and has a pool of its own") {
  const auto pool = BufferPool::create();
  auto buffer = pool->allocate(100'000);
  std::memset(buffer.get(), 7, 100'000);
  CHECK(test::holds_in_child([&] {
    const bool readable = static_cast<char*>(buffer.get())[99'999] == 7;
    buffer.reset();
    return readable && pool->bytes_idle() == 0 && pool->allocate(100'000) != nullptr;
  }));
  CHECK(static_cast<char*>(buffer.get())[0] == 7);
}

TEST_CASE("sizes that vary come to share buffers: a steady loop touches nothing fresh") {
  const auto pool = BufferPool::create();
  const auto faults = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
  };
  constexpr int kWarm = 50, kRounds = 200;
  int64_t before = 0;
  for (int round = 0; round < kWarm + kRounds; ++round) {
    if (round == kWarm) before = faults();
    std::vector<std::shared_ptr<void>> live;
    for (const int64_t most : {1'500'000, 700'000, 300'000, 100'000, 10'000}) {
      const auto varied =
          uniform_below(absorb(7, static_cast<uint64_t>(round)), static_cast<uint64_t>(most / 2));
      const int64_t bytes = most / 2 + static_cast<int64_t>(varied);
      live.push_back(pool->allocate(bytes));
      std::memset(live.back().get(), 1, static_cast<size_t>(bytes));
    }
  }
  // Fresh buffers would cost 450 faults a round.
  CHECK((faults() - before) / kRounds < 30);
}

TEST_CASE("numbers of bytes that no memory has are an Error") {
  for (const int64_t bytes : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
    CHECK_THROWS_WITH_AS(BufferPool::shared()->allocate(bytes),
                         ("no memory for a buffer of " + std::to_string(bytes) + " bytes").c_str(),
                         Error);
  }
}

namespace {

// Memory that takes long to unmap: another thread uses the list meanwhile.
struct SlowMemory {
  struct Buffer {
    int64_t size = 0;
  };
  Buffer map(int64_t size) const { return {size}; }
  void unmap(Buffer /*buffer*/) const noexcept {
    auto use = std::async(std::launch::async, [this] { return (*list)->idle(); });
    *was_open = use.wait_for(test::kPatience) == std::future_status::ready;
    if (!*was_open) std::abort();  // it waits for ever
  }
  const FreeList<SlowMemory>** list;
  bool* was_open;
};

}  // namespace

TEST_CASE("buffers are unmapped while others use the list") {
  bool was_open = false;
  const FreeList<SlowMemory>* of_memory = nullptr;
  FreeList<SlowMemory> list(SlowMemory{&of_memory, &was_open});
  of_memory = &list;
  const auto small = list.take(1 << 20), large = list.take(8 << 20);
  list.give_back(small, INT64_MAX);
  list.give_back(large, INT64_MAX);
  const auto larger = list.take(10 << 20);  // pushes out an idle one
  CHECK(was_open);
  was_open = false;
  list.clear();
  CHECK(was_open);
  list.give_back(larger, 0);
}
