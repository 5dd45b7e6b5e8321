// What all policies of a cache have in common, and those that do not look ahead.
#include "tables/cache/cache_policy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <vector>

#include "ramet/error.h"
#include "support/cached_rows_fixture.h"
#include "tables/cache/bypass_cache.h"
#include "tables/cache/look_ahead_cache.h"
#include "tables/cache/recency_cache.h"
#include "tables/cache/static_cache.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kPolicyRows = 50;

std::vector<std::unique_ptr<CachePolicy>> policies(int64_t capacity) {
  std::vector<int64_t> held;
  for (int64_t id = 0; id < std::min(capacity, kPolicyRows); ++id)
    held.push_back(id);
  std::vector<std::unique_ptr<CachePolicy>> all;
  all.push_back(std::make_unique<RecencyCache>(capacity, kPolicyRows));
  all.push_back(std::make_unique<StaticCache>(held, kPolicyRows));
  for (const int window : {0, 1, 4})
    all.push_back(std::make_unique<LookAheadCache>(capacity, kPolicyRows, window));
  return all;
}

// Least recently used goes first, but no row of the batch itself. The missing rows of each batch.
std::vector<Batch> missing_by_recency(int64_t capacity, const std::vector<Batch>& batches) {
  struct Entry {
    int64_t row;
    size_t batch;  // in which it was used last
  };
  std::list<Entry> kept;
  const auto find = [&](int64_t id) {
    return std::find_if(kept.begin(), kept.end(), [&](const Entry& e) { return e.row == id; });
  };
  std::vector<Batch> missing;
  for (size_t b = 0; b < batches.size(); ++b) {
    missing.emplace_back();
    for (const int64_t id : batches[b]) {
      const auto found = find(id);
      if (found == kept.end())
        missing.back().push_back(id);
      else
        kept.splice(kept.begin(), kept, found), kept.front().batch = b;
    }
    for (const int64_t id : missing.back()) {
      if (find(id) != kept.end()) continue;
      if (std::ssize(kept) == std::min(capacity, kPolicyRows)) {
        if (kept.empty() || kept.back().batch == b) continue;
        kept.pop_back();
      }
      kept.push_front({id, b});
    }
  }
  return missing;
}

}  // namespace

TEST_CASE("with every policy the rows that come out are those of the batch") {
  for (const int64_t capacity : {0, 1, 3, 20, 50, 51}) {
    for (const auto& policy : policies(capacity)) {
      CHECK(policy->capacity() == std::min(capacity, kPolicyRows));
      missing_rows(*policy, random_batches(150, 30, kPolicyRows, uint64_t(capacity)));
      CHECK(policy->memory_bytes() >= 4 * kPolicyRows);
    }
  }
}

TEST_CASE("a row that is in a batch twice is read twice, and then is here twice") {
  const Batch twice{4, 9, 4, 4, 7};
  for (const int64_t capacity : {0, 1, 3, 20}) {
    for (const auto& policy : policies(capacity)) {
      const auto missing = missing_rows(*policy, {twice, twice, {1, 2, 3, 4, 4}, twice, twice});
      CHECK(missing.front() == twice);
      if (capacity == 0) CHECK(missing[1] == twice);
      if (capacity == 20) CHECK(missing[1].empty());
    }
  }
}

TEST_CASE("a cache of all rows reads each once") {
  for (const auto& policy : policies(kPolicyRows)) {
    Batch all;
    for (int64_t v = 0; v < kPolicyRows; ++v)
      all.push_back(v * 7 % kPolicyRows);
    const auto missing = missing_rows(*policy, {all, all, all});
    CHECK(missing[0] == all);
    CHECK(total(missing) == kPolicyRows);
  }
}

TEST_CASE("what a policy refuses has no effect") {
  const Batch good{1, 2, 3}, beyond{1, kPolicyRows}, below{1, -1};
  for (const auto& policy : policies(4)) {
    CHECK_THROWS_WITH_AS(policy->serve(), "no batch is announced", Error);
    CHECK_THROWS_WITH_AS(policy->announce(ids_of(beyond)), "a row id is 50, outside [0, 50)",
                         Error);
    CHECK_THROWS_AS(policy->announce(ids_of(below)), Error);
    const std::vector<double> reals(3);
    CHECK_THROWS_AS(policy->announce(borrow(reals)), Error);
    for (int i = 0; i <= policy->window(); ++i)
      policy->announce(ids_of(good));
    CHECK_THROWS_AS(policy->announce(ids_of(good)), Error);
    CHECK(policy->serve().missing == good);
    for (int i = 0; i < policy->window(); ++i)
      CHECK(policy->serve().missing.empty());
  }
  CHECK_THROWS_AS(RecencyCache(-1, kPolicyRows), Error);
  CHECK_THROWS_AS(RecencyCache(kMostSlots + 1, kMostSlots + 1), Error);
  CHECK_THROWS_AS(LookAheadCache(1, kPolicyRows, -1), Error);
  CHECK_THROWS_AS(LookAheadCache(1, kPolicyRows, kMostWindow + 1), Error);
  const std::vector<int64_t> outside{kPolicyRows};
  CHECK_THROWS_AS(StaticCache(outside, kPolicyRows), Error);
}

TEST_CASE("an empty batch and an empty table are nothing") {
  RecencyCache recency(3, 0);
  LookAheadCache ahead(3, 0, 2);
  for (CachePolicy* policy :
       {static_cast<CachePolicy*>(&recency), static_cast<CachePolicy*>(&ahead)})
    CHECK(total(missing_rows(*policy, {{}, {}, {}})) == 0);
}

TEST_CASE("recency misses what a list in order of use misses") {
  for (const int64_t capacity : {0, 1, 5, 13, 49, 50, 1'000'000'000}) {
    const auto batches = random_batches(200, 30, kPolicyRows, uint64_t(capacity));
    RecencyCache policy(capacity, kPolicyRows);
    CHECK(missing_rows(policy, batches) == missing_by_recency(capacity, batches));
  }
}

TEST_CASE("held rows are read once, others each time") {
  const std::vector<int64_t> held{7, 3, 7, 40};  // 7 is held once
  StaticCache policy(held, kPolicyRows);
  const auto missing = missing_rows(policy, {{1, 7, 2}, {7, 3, 1}, {3, 40, 7}, {40, 3, 7, 1}});
  CHECK(missing == std::vector<Batch>{{1, 7, 2}, {3, 1}, {40}, {1}});
}

TEST_CASE("rows that pass a cache by are missing each time, and change nothing for the others") {
  const auto batches = random_batches(100, 30, kPolicyRows, 3);
  const auto passes = [](int64_t id) { return (id >= 5 && id < 20) || id >= 45; };
  for (size_t p = 0; p < policies(8).size(); ++p) {
    std::vector<Batch> own, passing;
    for (const Batch& batch : batches) {
      own.emplace_back(), passing.emplace_back();
      for (const int64_t id : batch)
        (passes(id) ? passing : own).back().push_back(id);
    }
    BypassCache cache(std::move(policies(8)[p]), {{5, 20}, {45, kPolicyRows}});
    auto expected = missing_rows(*policies(8)[p], own);
    for (size_t b = 0; b < batches.size(); ++b)
      expected[b].insert(expected[b].end(), passing[b].begin(), passing[b].end());
    CHECK(missing_rows(cache, batches) == expected);
  }
}
