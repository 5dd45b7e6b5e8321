// The cache that looks ahead: against a slow one that does the same, and the best of all caches.
#include "tables/cache/look_ahead_cache.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "ramet/error.h"
#include "support/cached_rows_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kLookedAtRows = 60;

// What is known of a row: the negative distance of its next use, or how rows without one compare.
using Worth = std::pair<int64_t, int64_t>;  // 0 or 1: has a use in the window; then the higher wins

class MinTwin {
 public:
  MinTwin(int64_t capacity,
          int64_t window,
          std::vector<uint8_t> classes,
          std::vector<Batch> batches)
      : capacity_(static_cast<size_t>(std::min(capacity, kLookedAtRows))),
        window_(window),
        classes_(std::move(classes)),
        batches_(std::move(batches)) {}

  std::vector<Batch> missing_rows() {
    std::vector<Batch> missing(batches_.size());
    for (int64_t now = 0; now < std::ssize(batches_); ++now)
      missing[static_cast<size_t>(now)] = serve(now);
    return missing;
  }

 private:
  struct Entry {
    Worth worth;
    int64_t filed;
  };

  Batch serve(int64_t now) {
    if (now == 0)
      for (int64_t b = 0; b < window_; ++b)
        refile_announced(b);
    refile_announced(now + window_);
    const Batch& batch = batches_[static_cast<size_t>(now)];
    Batch missing;
    for (const int64_t id : batch) {
      const auto it = here_.find(id);
      if (it == here_.end())
        missing.push_back(id);
      else
        it->second = {worth(id, now), ++clock_};
    }
    for (const int64_t id : missing) {
      const Worth mine = worth(id, now);
      if (here_.size() == capacity_) {
        const auto worst = std::min_element(here_.begin(), here_.end(), [](auto& a, auto& b) {
          return std::pair(a.second.worth, a.second.filed) <
                 std::pair(b.second.worth, b.second.filed);
        });
        if (worst == here_.end() || worst->second.worth >= mine) continue;
        here_.erase(worst);
      }
      here_[id] = {mine, ++clock_};
    }
    return missing;
  }

  // Rows that had no use in the window have one now.
  void refile_announced(int64_t batch) {
    if (batch >= std::ssize(batches_)) return;
    for (const int64_t id : batches_[static_cast<size_t>(batch)]) {
      const auto it = here_.find(id);
      if (it != here_.end() && it->second.worth.first == 0) it->second = {{1, -batch}, ++clock_};
    }
  }

  [[nodiscard]] Worth worth(int64_t id, int64_t now) const {
    const int64_t end = std::min(now + window_ + 1, std::ssize(batches_));
    for (int64_t b = now + 1; b < end; ++b) {
      const Batch& batch = batches_[static_cast<size_t>(b)];
      if (std::find(batch.begin(), batch.end(), id) != batch.end()) return {1, -b};
    }
    return {0, classes_.empty() ? 0 : classes_[static_cast<size_t>(id)]};
  }

  size_t capacity_;
  int64_t window_;
  std::vector<uint8_t> classes_;
  std::vector<Batch> batches_;
  std::map<int64_t, Entry> here_;
  int64_t clock_ = 0;
};

// The most hits that any cache can have: over all sets of rows that it may hold after each batch.
int64_t most_hits(int capacity, const std::vector<Batch>& batches, int rows) {
  constexpr int64_t kNever = -1;
  std::vector<int64_t> best(size_t{1} << rows, kNever);
  best[0] = 0;
  for (const Batch& batch : batches) {
    unsigned used = 0;
    for (const int64_t id : batch)
      used |= 1U << id;
    std::vector<int64_t> after(best.size(), kNever);
    for (unsigned here = 0; here < best.size(); ++here) {
      if (best[here] == kNever) continue;
      const int64_t hits = best[here] + std::popcount(here & used);
      for (unsigned next = here | used;; next = (next - 1) & (here | used)) {  // all subsets
        if (std::popcount(next) <= capacity) after[next] = std::max(after[next], hits);
        if (next == 0) break;
      }
    }
    best = after;
  }
  return *std::max_element(best.begin(), best.end());
}

std::vector<uint8_t> some_classes() {
  std::vector<uint8_t> classes;
  for (int64_t id = 0; id < kLookedAtRows; ++id)
    classes.push_back(static_cast<uint8_t>(id * id % 7 * 40));
  return classes;
}

}  // namespace

TEST_CASE("looking ahead misses what its slow twin misses") {
  for (const int64_t capacity : {0, 1, 2, 7, 20, 59, 60, 61, 1'000'000'000}) {
    for (const int window : {0, 1, 2, 5, 100}) {
      for (const auto& classes : {std::vector<uint8_t>(), some_classes()}) {
        CAPTURE(capacity);
        CAPTURE(window);
        const auto batches =
            random_batches(60, 25, kLookedAtRows, uint64_t(capacity) * 7 + classes.size());
        LookAheadCache cache(capacity, kLookedAtRows, window, classes);
        CHECK(cache.capacity() == std::min(capacity, kLookedAtRows));
        REQUIRE(missing_rows(cache, batches) ==
                MinTwin(capacity, window, classes, batches).missing_rows());
      }
    }
  }
}

TEST_CASE("no cache has more hits than one that sees everything") {
  constexpr int kFew = 7;
  for (uint64_t key = 0; key < 60; ++key) {
    const auto batches = random_batches(10, 8, kFew, key);
    for (int capacity = 0; capacity <= kFew; ++capacity) {
      LookAheadCache cache(capacity, kFew, 10);
      const int64_t hits = total(batches) - total(missing_rows(cache, batches));
      CHECK(hits == most_hits(capacity, batches, kFew));
    }
  }
}

TEST_CASE("without a window the rows of the highest classes stay") {
  std::vector<int64_t> counts(kLookedAtRows);
  std::iota(counts.begin(), counts.end(), 0);
  auto classes = use_classes(counts);
  CHECK(std::is_sorted(classes.begin(), classes.end()));
  classes.assign(counts.begin(), counts.end());
  LookAheadCache cache(10, kLookedAtRows, 0, classes);
  std::vector<Batch> batches = random_batches(30, 30, kLookedAtRows, 3);
  Batch all(kLookedAtRows);
  std::iota(all.begin(), all.end(), 0);
  batches.insert(batches.begin(), all);
  const auto missing = missing_rows(cache, batches);
  for (size_t b = 1; b < batches.size(); ++b)
    CHECK(std::ssize(missing[b]) ==
          std::count_if(batches[b].begin(), batches[b].end(),
                        [](int64_t id) { return id < kLookedAtRows - 10; }));
}

TEST_CASE("classes of counts ascend in steps of an eighth") {
  std::vector<int64_t> counts;
  for (int64_t count = 0; count < 300; ++count)
    counts.push_back(count);
  for (int bit = 9; bit < 63; ++bit)
    counts.push_back(int64_t{1} << bit);
  counts.push_back(std::numeric_limits<int64_t>::max());
  const auto classes = use_classes(counts);
  CHECK(std::is_sorted(classes.begin(), classes.end()));
  for (size_t i = 0; i < 16; ++i)
    CHECK(classes[i] == i);
  CHECK(classes[16] == classes[17]);
  CHECK(classes[17] < classes[18]);
  CHECK(classes.back() == 255);
}

TEST_CASE("narrow ids are ids; ids are kept alive; memory is as said") {
  const auto ids = std::make_shared<std::vector<int32_t>>(std::vector<int32_t>{3, 1, 2});
  LookAheadCache cache(2, 1000, 3), wide(2, 1000, 3);
  Array narrow = borrow(std::span<const int32_t>(*ids));
  narrow.owner = ids;
  const Batch same{3, 1, 2};
  for (int i = 0; i < 3; ++i) {
    cache.announce(narrow);
    wide.announce(ids_of(same));
  }
  CHECK(ids.use_count() == 5);
  for (int i = 0; i < 3; ++i)
    CHECK(cache.serve().slots == wide.serve().slots);
  CHECK(ids.use_count() == 2);
  CHECK(cache.memory_bytes() < 8 * 1000 + 4 * 1024 + 16 * 2 + 8 * (256 + 4) + 1);
  LookAheadCache large(10, 1 << 20, 4);
  Batch many(1 << 18);
  std::iota(many.begin(), many.end(), 0);
  for (int i = 0; i < 5; ++i)
    large.announce(ids_of(many));
  CHECK(large.memory_bytes() < 8 * (1 << 20) + 4 * (2 << 20) + 4096);  // the ring: a power of 2
}

TEST_CASE("a window may be used in part, and the stream may pause") {
  const auto batches = random_batches(40, 20, kLookedAtRows, 8);
  LookAheadCache cache(12, kLookedAtRows, 6, some_classes()),
      again(12, kLookedAtRows, 6, some_classes());
  RowStore store(cache), store_again(again);
  size_t served = 0, announced = 0;
  for (const size_t together : {1U, 3U, 7U, 2U, 7U, 7U, 6U, 7U}) {
    for (; announced < served + together; ++announced) {
      cache.announce(ids_of(batches[announced]));
      again.announce(ids_of(batches[announced]));
    }
    for (; served < announced; ++served)
      CHECK(store.serve(batches[served]) == store_again.serve(batches[served]));
  }
  CHECK(served == 40);
}

TEST_CASE("a cache that looks ahead refuses classes of other rows") {
  CHECK_THROWS_WITH_AS(LookAheadCache(1, 4, 1, std::vector<uint8_t>(3)), "3 classes of 4 rows",
                       Error);
}
