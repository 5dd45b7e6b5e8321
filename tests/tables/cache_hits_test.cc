// What caches would have had, against caches.
#include "ramet/cache_hits.h"

#include <doctest/doctest.h>

#include <vector>

#include "ramet/error.h"
#include "support/cached_rows_fixture.h"
#include "support/row_reader_fixture.h"
#include "tables/cache/hottest_rows.h"
#include "tables/cache/look_ahead_cache.h"
#include "tables/cache/recency_cache.h"
#include "tables/cache/static_cache.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kHitRows = 60;

std::vector<int64_t> some_counts() {
  std::vector<int64_t> counts;
  for (int64_t id = 0; id < kHitRows; ++id)
    counts.push_back(id * id % 7 * 40);
  return counts;
}

std::vector<std::vector<Array>> as_arrays(const std::vector<std::vector<Batch>>& epochs) {
  std::vector<std::vector<Array>> arrays;
  for (const auto& batches : epochs) {
    arrays.emplace_back();
    for (const Batch& batch : batches)
      arrays.back().push_back(ids_of(batch));
  }
  return arrays;
}

// Epoch by epoch, so that no window reaches beyond one.
std::vector<int64_t> hits_of(CachePolicy& policy, const std::vector<std::vector<Batch>>& epochs) {
  std::vector<int64_t> hits;
  RowStore store(policy);
  for (const auto& batches : epochs) {
    const auto missing = missing_rows(policy, batches, store);
    for (size_t b = 0; b < batches.size(); ++b)
      hits.push_back(std::ssize(batches[b]) - std::ssize(missing[b]));
  }
  return hits;
}

std::vector<int64_t> rows_in(const std::vector<CacheHits>& hits) {
  std::vector<int64_t> rows;
  for (const CacheHits& of_batch : hits)
    rows.push_back(of_batch.rows);
  return rows;
}

}  // namespace

TEST_CASE("hits are those of the caches, which go on from epoch to epoch") {
  const std::vector<std::vector<Batch>> epochs{random_batches(20, 30, kHitRows, 1),
                                               {},
                                               random_batches(9, 30, kHitRows, 2),
                                               random_batches(15, 30, kHitRows, 3)};
  const auto arrays = as_arrays(epochs);
  const std::vector<int64_t> counts = some_counts(), second(kHitRows, 1);
  const Array weights = borrow(counts);
  const Array others = borrow(second);
  for (const int64_t capacity : {0, 1, 7, 25, 60, 100}) {
    RecencyCache recency(capacity, kHitRows);
    CHECK(rows_in(
              cache_hits(arrays, kHitRows, {.rule = CacheRule::kRecency, .capacity = capacity})) ==
          hits_of(recency, epochs));
    StaticCache held(hottest_rows(capacity, counts, second), kHitRows);
    CHECK(rows_in(cache_hits(arrays, kHitRows,
                             {.rule = CacheRule::kHeld,
                              .capacity = capacity,
                              .counts = weights,
                              .second_counts = others})) == hits_of(held, epochs));
    for (const int window : {0, 3, 30}) {
      LookAheadCache ahead(capacity, kHitRows, window, use_classes(counts));
      CHECK(rows_in(cache_hits(arrays, kHitRows,
                               {.capacity = capacity, .window = window, .counts = weights})) ==
            hits_of(ahead, epochs));
      LookAheadCache plain(capacity, kHitRows, window);
      CHECK(rows_in(cache_hits(arrays, kHitRows, {.capacity = capacity, .window = window})) ==
            hits_of(plain, epochs));
    }
  }
}

TEST_CASE("a reader plans the rows that counted batches miss") {
  const std::vector<std::vector<Batch>> epochs{random_batches(4, 30, kHitRows, 1),
                                               random_batches(6, 30, kHitRows, 2)};
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 100, 0, kHitRows, 128);
  // A gap of up to 250 bytes is read through.
  const auto reader =
      RowReader::open({span}, 100, options_of({ReadMethod::kThreads, false}, 250e-9));
  RecencyCache recency(25, kHitRows);
  RowStore store(recency);
  std::vector<ReadCounts> expected;
  for (const auto& batches : epochs)
    for (const auto& missing : missing_rows(recency, batches, store))
      expected.push_back(check_rows(*reader, missing, 100));
  const auto hits = cache_hits(
      as_arrays(epochs), kHitRows,
      {.rule = CacheRule::kRecency, .capacity = 25, .reader = reader.get(), .first_planned = 4});
  REQUIRE(hits.size() == expected.size());
  for (size_t b = 0; b < hits.size(); ++b)
    CHECK(hits[b].read == (b < 4 ? ReadCounts{} : expected[b]));
}

TEST_CASE("what cannot be a cache is refused") {
  const std::vector<std::vector<Batch>> epochs{{{1, 2, 3}}};
  const auto arrays = as_arrays(epochs);
  const std::vector<int64_t> few(3);
  const auto refuses = [&](const CacheHitsOptions& options) {
    CHECK_THROWS_AS(cache_hits(arrays, kHitRows, options), Error);
  };
  refuses({.capacity = -1});
  refuses({.capacity = 1, .window = -1});
  refuses({.rule = CacheRule::kHeld, .capacity = 1});
  refuses({.rule = CacheRule::kRecency, .capacity = -1});
  refuses({.capacity = 1, .counts = borrow(few)});
  const std::vector<int64_t> counts = some_counts();
  refuses({.rule = CacheRule::kHeld, .capacity = -1, .counts = borrow(counts)});
  refuses({.rule = static_cast<CacheRule>(9)});
  CHECK_THROWS_AS(cache_hits(arrays, 2, {.capacity = 1}), Error);
  CHECK_THROWS_AS(cache_hits(arrays, -1, {.capacity = 1}), Error);
}
