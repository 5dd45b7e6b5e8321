#include "ramet/cache_hits.h"

#include <memory>

#include "hottest_rows.h"
#include "look_ahead_cache.h"
#include "ramet/error.h"
#include "recency_cache.h"
#include "static_cache.h"

namespace ramet {
namespace {

std::span<const int64_t> counts_of(const Array& counts, int64_t num_rows, bool needed) {
  if (counts.shape.empty() && !needed) return {};
  if (counts.dtype != DType::kInt64 || counts.shape != std::vector<int64_t>{num_rows})
    throw_invalid("counts are ", counts.describe(), ", expected int64[", num_rows, "]");
  return counts.as<int64_t>();
}

std::unique_ptr<CachePolicy> make_policy(int64_t num_rows, const CacheHitsOptions& options) {
  const int64_t capacity = options.capacity;
  const auto first = counts_of(options.counts, num_rows, options.rule == CacheRule::kHeld);
  const auto second = counts_of(options.second_counts, num_rows, false);
  switch (options.rule) {
    case CacheRule::kRecency:
      return std::make_unique<RecencyCache>(capacity, num_rows);
    case CacheRule::kHeld:
      if (capacity < 0) throw_invalid("a cache of ", capacity, " rows, expected at least 0");
      return std::make_unique<StaticCache>(hottest_rows(capacity, first, second), num_rows);
    case CacheRule::kLookAhead:
      return std::make_unique<LookAheadCache>(capacity, num_rows, options.window,
                                              use_classes(first));
  }
  throw_invalid("there is no rule ", static_cast<int>(options.rule));
}

}  // namespace

std::vector<CacheHits> cache_hits(std::span<const std::vector<Array>> epochs,
                                  int64_t num_rows,
                                  const CacheHitsOptions& options) {
  if (num_rows < 0) throw_invalid("a table of ", num_rows, " rows, expected at least 0");
  const auto policy = make_policy(num_rows, options);
  std::vector<CacheHits> hits;
  CacheUse use;
  for (const std::vector<Array>& batches : epochs) {
    int64_t announced = 0;
    for (int64_t b = 0; b < std::ssize(batches); ++b) {
      for (; announced < std::ssize(batches) && announced <= b + policy->window(); ++announced)
        policy->announce(batches[static_cast<size_t>(announced)]);
      policy->serve(use);
      const bool is_planned =
          options.reader != nullptr && std::ssize(hits) >= options.first_planned;
      hits.push_back({.rows = std::ssize(use.slots) - std::ssize(use.missing),
                      .read = is_planned ? options.reader->plan(use.missing) : ReadCounts{}});
    }
  }
  return hits;
}

}  // namespace ramet
