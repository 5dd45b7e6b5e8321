#include "cache_policy.h"

#include <algorithm>
#include <utility>

#include "ramet/error.h"

namespace ramet {

void CacheUse::prepare(int64_t num_rows) {
  const auto rows = static_cast<size_t>(num_rows);
  slots.resize(rows);
  missing.clear();
  positions.clear();
  targets.clear();
  missing.reserve(rows);
  positions.reserve(rows);
  targets.reserve(rows);
  num_bypassed = 0;
}

CachePolicy::CachePolicy(int64_t capacity, int64_t num_rows, int window)
    : capacity_(std::min(capacity, num_rows)), num_rows_(num_rows), window_(window) {
  if (capacity < 0) throw_invalid("a cache of ", capacity, " rows, expected at least 0");
  if (capacity_ > kMostSlots)
    throw_invalid("a cache of ", capacity_, " rows, expected at most ", kMostSlots);
  if (window < 0 || window > kMostWindow)
    throw_invalid("a window of ", window, " batches, expected 0 to ", kMostWindow);
}

void CachePolicy::announce(Array ids) {
  if (std::ssize(announced_) > window_)
    throw_invalid(announced_.size(), " batches wait; a window of ", window_, " allows no more");
  if (ids.dtype != DType::kInt32 && ids.dtype != DType::kInt64)
    throw_invalid("row ids are ", ids.describe(), ", expected int32 or int64");
  with_ids(ids, [&](auto values) {
    for (const auto id : values)
      require_index(id, num_rows_, "a row id");
  });
  prepare(ids.rows());
  announced_.push_back(std::move(ids));
  look_at(announced_.back());
}

CacheUse CachePolicy::serve() {
  CacheUse use;
  serve(use);
  return use;
}

void CachePolicy::serve(CacheUse& use) {
  if (announced_.empty()) throw_invalid("no batch is announced");
  const Array& ids = announced_.front();
  use.prepare(ids.rows());
  take(ids, use);
  announced_.pop_front();
}

}  // namespace ramet
