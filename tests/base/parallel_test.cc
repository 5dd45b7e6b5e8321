#include "base/parallel.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "ramet/error.h"
#include "support/fork.h"
#include "support/threads.h"

using namespace ramet;

namespace {

int64_t sum_to(int64_t n, int threads) {
  std::atomic<int64_t> sum{0};
  parallel_for(n, 7, threads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      sum += i;
  });
  return sum;
}

}  // namespace

TEST_CASE("every item is visited once for any number of threads and grains") {
  for (const int threads : {0, 1, 2, 8}) {
    for (const int64_t grain : {1, 3, 1000}) {
      std::vector<std::atomic<int>> visits(257);
      parallel_for(257, grain, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          ++visits[static_cast<size_t>(i)];
      });
      for (const auto& count : visits)
        REQUIRE(count == 1);
    }
  }
  parallel_for(0, 1, 4, [](int64_t, int64_t) { FAIL("called for no items"); });
}

TEST_CASE("an exception reaches the caller and the pool stays usable") {
  for (int repeat = 0; repeat < 50; ++repeat) {
    CHECK_THROWS_WITH_AS(parallel_for(100, 1, 4,
                                      [](int64_t begin, int64_t) {
                                        if (begin == 42) throw Error(ErrorCode::kIo, "chunk 42");
                                      }),
                         "chunk 42", Error);
  }
  CHECK(sum_to(1000, 4) == 499'500);
}

TEST_CASE("calls from several threads and nested calls do not wait for each other") {
  std::atomic<int> right{0};
  test::in_threads(4, [&](int) {
    for (int i = 0; i < 50; ++i)
      right += sum_to(500, 3) == 124'750;
  });
  CHECK(right == 200);
  std::atomic<int64_t> nested{0};
  parallel_for(8, 1, 4, [&](int64_t, int64_t) { nested += sum_to(100, 4); });
  CHECK(nested == 8 * 4950);
}

TEST_CASE("a forked child has threads of its own" * doctest::skip(test::kNoThreadsAfterFork)) {
  CHECK(sum_to(1000, 4) == 499'500);  // the parent's pool is running
  for (int repeat = 0; repeat < 20; ++repeat) {
    CHECK(test::holds_in_child([] { return sum_to(1000, 4) == 499'500; }));
  }
  CHECK(sum_to(1000, 4) == 499'500);
}

TEST_CASE("any number of threads may be asked for") {
  for (const int threads : {INT32_MIN, -1, INT32_MAX})
    CHECK(sum_to(1000, threads) == 499'500);
  std::atomic<int64_t> chunks{0};
  const auto stop = [&](int64_t, int64_t) {
    if (++chunks == 100) throw Error(ErrorCode::kIo, "enough");
  };
  // Stopped, it still counts the chunks.
  CHECK_THROWS_WITH_AS(parallel_for(int64_t{1} << 22, 1, INT32_MAX, stop), "enough", Error);
}
