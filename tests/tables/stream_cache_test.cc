// Rows through a cache for batches in order, against the table: every policy, completed by several
// threads, dropped and failed. docs/disk.md.
#include "tables/cache/stream_cache.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "ramet/error.h"
#include "support/cached_rows_fixture.h"
#include "support/threads.h"
#include "tables/cache/look_ahead_cache.h"
#include "tables/cache/recency_cache.h"
#include "tables/cache/static_cache.h"
#include "tables/source_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kCachedRows = 60;

std::unique_ptr<CachePolicy> make_policy(int kind, int64_t capacity) {
  const std::vector<int64_t> held{7, 3, 40, 59};
  if (kind == 0) return std::make_unique<RecencyCache>(capacity, kCachedRows);
  if (kind == 1) return std::make_unique<StaticCache>(held, kCachedRows);
  return std::make_unique<LookAheadCache>(capacity, kCachedRows, 2 * (kind - 2));
}
constexpr int kKinds = 4;

bool is_right(const Table& table, const Batch& ids, const GatheredRows& got) {
  const Array expected = table.gather_float32(ids);
  return got.rows.shape == expected.shape && got.cache.hits + got.cache.misses == std::ssize(ids) &&
         std::memcmp(got.rows.data, expected.data, static_cast<size_t>(expected.bytes())) == 0;
}

// Runs the batches, of which up to `ahead` are begun before the first is complete; the hits of
// each.
std::vector<int64_t> run(StreamCache& cache,
                         const Table& table,
                         const std::vector<Batch>& batches,
                         size_t ahead,
                         int threads) {
  const ReadContext context{.pool = BufferPool::create(), .threads = threads};
  std::vector<std::unique_ptr<RowRead>> reads(batches.size());
  std::vector<int64_t> hits;
  size_t announced = 0, begun = 0;
  for (size_t b = 0; b < batches.size(); ++b) {
    for (; begun < batches.size() && begun <= b + ahead; ++begun) {
      for (; announced < batches.size() && announced <= begun + size_t(cache.window()); ++announced)
        cache.announce(ids_of(batches[announced]));
      reads[begun] = cache.begin(context);
    }
    const GatheredRows got = reads[b]->complete();
    REQUIRE(is_right(table, batches[b], got));
    hits.push_back(got.cache.hits);
  }
  return hits;
}

}  // namespace

TEST_CASE("rows are those of the table, and hits do not depend on what is on its way") {
  const Table table = half_table(kCachedRows);
  const auto source = make_row_source(table, {});
  const auto batches = random_batches(60, 30, kCachedRows, 1);
  for (int kind = 0; kind < kKinds; ++kind)
    for (const int64_t capacity : {0, 1, 13, 60, 1000}) {
      CAPTURE(kind);
      CAPTURE(capacity);
      std::vector<int64_t> expected;
      for (const size_t ahead : {0, 1, 5}) {
        StreamCache cache(source, make_policy(kind, capacity));
        const auto hits = run(cache, table, batches, ahead, int(ahead) + 1);
        if (expected.empty()) expected = hits;
        CHECK(hits == expected);
        CHECK(cache.is_intact());
        CHECK(cache.memory_bytes() >=
              std::min(capacity, kCachedRows) * table.rows().row_bytes() * 2 * (kind != 1));
      }
    }
}

TEST_CASE("threads complete batches in any order") {
  const Table table = half_table(kCachedRows);
  const auto source = make_row_source(table, {});
  const auto batches = random_batches(200, 30, kCachedRows, 2);
  const ReadContext context{.pool = BufferPool::create()};
  for (int kind = 0; kind < kKinds; ++kind) {
    StreamCache cache(source, make_policy(kind, 20));
    std::vector<std::unique_ptr<RowRead>> reads;
    size_t announced = 0;
    for (size_t b = 0; b < batches.size(); ++b) {
      for (; announced < batches.size() && announced <= b + size_t(cache.window()); ++announced)
        cache.announce(ids_of(batches[announced]));
      reads.push_back(cache.begin(context));
    }
    std::atomic<size_t> next{0};
    std::atomic<int> wrong{0};
    in_threads(4, [&](int) {
      for (size_t b = next++; b < batches.size(); b = next++)
        if (!is_right(table, batches[b], reads[b]->complete())) ++wrong;
    });
    CHECK(wrong == 0);
    CHECK(cache.is_intact());
  }
}

TEST_CASE("after a batch that was dropped or failed nothing is handed out") {
  const Table table = half_table(kCachedRows);
  const ReadContext context{.pool = BufferPool::create()};
  const Batch ids{1, 2, 3}, bad{1, kCachedRows + 5};
  for (const bool fails : {false, true}) {
    // The policy counts more rows than the table has.
    StreamCache cache(make_row_source(table, {}),
                      std::make_unique<RecencyCache>(9, kCachedRows + 10));
    cache.announce(ids_of(fails ? bad : ids));
    auto first = cache.begin(context);
    CHECK(!cache.is_intact());
    cache.announce(ids_of(ids));
    const auto second = cache.begin(context);
    if (fails) CHECK_THROWS_WITH(first->complete(), "ids[1] = 65 is outside the 60 rows of half");
    first.reset();
    CHECK_THROWS_AS(second->complete(), Error);
    CHECK(!cache.is_intact());
  }
}

TEST_CASE("batches before one that failed are handed out") {
  const Table table = half_table(kCachedRows);
  const ReadContext context{.pool = BufferPool::create()};
  const Batch ids{1, 2, 3}, bad{1, kCachedRows + 5};
  StreamCache cache(make_row_source(table, {}),
                    std::make_unique<RecencyCache>(9, kCachedRows + 10));
  cache.announce(ids_of(ids));
  const auto first = cache.begin(context);
  cache.announce(ids_of(bad));
  auto second = cache.begin(context);
  CHECK_THROWS_AS(second->complete(), Error);
  second.reset();
  CHECK(is_right(table, ids, first->complete()));
  CHECK(!cache.is_intact());
}
