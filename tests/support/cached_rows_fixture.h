// A caller of a CachePolicy: rows that say which they are, and slots for them.
#pragma once

#include <doctest/doctest.h>

#include <span>
#include <vector>

#include "ramet/random.h"
#include "tables/cache/cache_policy.h"

namespace ramet::test {

using Batch = std::vector<int64_t>;

// Distinct ids, of which low ones are more frequent.
inline std::vector<Batch> random_batches(int64_t count, int64_t most, int64_t rows, uint64_t key) {
  std::vector<Batch> batches(static_cast<size_t>(count));
  for (size_t b = 0; b < batches.size(); ++b) {
    std::vector<bool> has(static_cast<size_t>(rows));
    const uint64_t draws = absorb(key, b) % static_cast<uint64_t>(most + 1);
    for (uint64_t i = 0; i < draws; ++i) {
      const uint64_t word = absorb(absorb(key, b), i + 1);
      const auto id = static_cast<size_t>((word % 97) * (word / 97 % 97) * uint64_t(rows) / 9409);
      if (!has[id]) batches[b].push_back(static_cast<int64_t>(id));
      has[id] = true;
    }
  }
  return batches;
}

// Uses a policy as its caller must, and checks that each row comes out right.
class RowStore {
 public:
  explicit RowStore(CachePolicy& policy)
      : policy_(policy), rows_(static_cast<size_t>(policy.capacity()), -1) {}

  // Serves the batch `ids`; which rows are missing.
  std::vector<int64_t> serve(const Batch& ids) {
    policy_.serve(use_);
    const CacheUse& use = use_;
    REQUIRE(use.slots.size() == ids.size());
    REQUIRE(use.positions.size() == use.missing.size());
    REQUIRE(use.targets.size() == use.missing.size());
    size_t hits = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (use.slots[i] < 0) continue;
      REQUIRE(rows_.at(static_cast<size_t>(use.slots[i])) == ids[i]);
      ++hits;
    }
    REQUIRE(hits + use.missing.size() == ids.size());
    for (size_t m = 0; m < use.missing.size(); ++m) {
      REQUIRE(ids.at(static_cast<size_t>(use.positions[m])) == use.missing[m]);
      REQUIRE(use.slots[static_cast<size_t>(use.positions[m])] == -1);
      if (use.targets[m] >= 0) rows_.at(static_cast<size_t>(use.targets[m])) = use.missing[m];
    }
    return use.missing;
  }

 private:
  CachePolicy& policy_;
  std::vector<int64_t> rows_;  // by slot: the row id
  CacheUse use_;               // of the batch before, and so reused
};

inline Array ids_of(const Batch& batch) {
  return borrow(batch);
}

// Announces as far ahead as the policy allows. The missing rows of each batch.
inline std::vector<Batch> missing_rows(CachePolicy& policy,
                                       const std::vector<Batch>& batches,
                                       RowStore& store) {
  std::vector<Batch> missing;
  size_t announced = 0;
  for (size_t b = 0; b < batches.size(); ++b) {
    for (; announced < batches.size() && announced <= b + size_t(policy.window()); ++announced)
      policy.announce(ids_of(batches[announced]));
    missing.push_back(store.serve(batches[b]));
  }
  return missing;
}

inline std::vector<Batch> missing_rows(CachePolicy& policy, const std::vector<Batch>& batches) {
  RowStore store(policy);
  return missing_rows(policy, batches, store);
}

inline int64_t total(const std::vector<Batch>& batches) {
  int64_t sum = 0;
  for (const Batch& batch : batches)
    sum += std::ssize(batch);
  return sum;
}

}  // namespace ramet::test
