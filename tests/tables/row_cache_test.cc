// The cache of rows against a list in order of use.
#include "tables/cache/row_cache.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <list>
#include <vector>

#include "ramet/random.h"

using namespace ramet;

namespace {

constexpr int64_t kRows = 50;

struct Entry {
  int64_t row;
  int64_t batch;  // in which it was used last
};

// Least recently used goes first, but no row of the batch itself.
class Twin {
 public:
  explicit Twin(int64_t capacity) : capacity_(static_cast<size_t>(std::min(capacity, kRows))) {}

  // The rows that have to be read.
  std::vector<int64_t> gather(const std::vector<int64_t>& ids) {
    ++batch_;
    std::vector<int64_t> missing;
    for (const int64_t id : ids) {
      const auto it = find(id);
      if (it == entries_.end()) {
        missing.push_back(id);
      } else {
        entries_.erase(it);
        entries_.push_front({id, batch_});
      }
    }
    for (const int64_t id : missing) {
      if (find(id) != entries_.end()) continue;
      if (entries_.size() == capacity_) {
        if (entries_.empty() || entries_.back().batch == batch_) continue;
        entries_.pop_back();
      }
      entries_.push_front({id, batch_});
    }
    return missing;
  }

 private:
  std::list<Entry>::iterator find(int64_t id) {
    return std::find_if(entries_.begin(), entries_.end(), [&](Entry e) { return e.row == id; });
  }

  size_t capacity_;
  std::list<Entry> entries_;
  int64_t batch_ = 0;
};

std::vector<int64_t> random_ids(uint64_t key) {
  std::vector<int64_t> ids;
  const uint64_t range = key % 3 == 0 ? kRows : 12;  // sometimes mostly the same rows
  for (uint64_t i = mix64(key) % 30; i > 0; --i)
    ids.push_back(static_cast<int64_t>(absorb(key, i) % range));
  return ids;
}

// Row v is the byte v, as often as rows are wide.
void write_rows(std::span<const int64_t> ids, void* out, int64_t row_bytes) {
  for (size_t i = 0; i < ids.size(); ++i)
    std::memset(static_cast<char*>(out) + static_cast<int64_t>(i) * row_bytes,
                static_cast<int>(ids[i] + 1), static_cast<size_t>(row_bytes));
}

// Gathers through the cache, as CachedRows does. The rows that had to be read.
std::vector<int64_t> gather(RowCache& cache,
                            const std::vector<int64_t>& ids,
                            std::vector<char>& out,
                            int64_t row_bytes) {
  const MissingRows missing = cache.read(ids, out.data());
  std::vector<char> rows(missing.ids.size() * static_cast<size_t>(row_bytes));
  write_rows(missing.ids, rows.data(), row_bytes);
  cache.insert(missing, rows.data(), out.data());
  return missing.ids;
}

std::vector<char> rows_of(const std::vector<int64_t>& ids, int64_t row_bytes) {
  std::vector<char> rows(ids.size() * static_cast<size_t>(row_bytes));
  write_rows(ids, rows.data(), row_bytes);
  return rows;
}

}  // namespace

TEST_CASE("rows are those of the table, and what is kept is what was used last") {
  for (const int64_t capacity : {0, 1, 2, 5, 13, 49, 50, 51, 1'000'000'000}) {
    for (const int64_t row_bytes : {1, 8, 36}) {
      CAPTURE(capacity);
      RowCache cache(capacity, kRows, row_bytes);
      Twin twin(capacity);
      for (uint64_t batch = 0; batch < 120; ++batch) {
        const auto ids = random_ids(batch);
        std::vector<char> out(ids.size() * static_cast<size_t>(row_bytes));
        const auto read = gather(cache, ids, out, row_bytes);
        REQUIRE(out == rows_of(ids, row_bytes));
        REQUIRE(read == twin.gather(ids));
      }
    }
  }
}

TEST_CASE("a cache of all rows reads each once") {
  RowCache cache(kRows, kRows, 4);
  std::vector<int64_t> all;
  for (int64_t v = 0; v < kRows; ++v)
    all.push_back(v * 7 % kRows);
  std::vector<char> out(4 * kRows);
  CHECK(gather(cache, all, out, 4) == all);
  for (int batch = 0; batch < 2; ++batch)
    CHECK(gather(cache, all, out, 4).empty());
}

TEST_CASE("a cache whose missing rows never come is as good as before") {
  RowCache cache(4, kRows, 4);
  std::vector<char> out(4 * 4);
  gather(cache, {0, 1, 2, 3}, out, 4);
  const std::vector<int64_t> next{0, 9, 2, 8};
  CHECK(cache.read(next, out.data()).ids == std::vector<int64_t>{9, 8});
  for (const auto& ids : {next, std::vector<int64_t>{8, 1, 3, 0}, next}) {
    gather(cache, ids, out, 4);
    CHECK(out == rows_of(ids, 4));
  }
}

TEST_CASE("batches that are read together take their rows from either order") {
  RowCache cache(3, kRows, 4);
  const std::vector<int64_t> one{1, 2, 3}, other{2, 3, 4, 5};
  std::vector<char> out_one(4 * 3), out_other(4 * 4);
  const MissingRows first = cache.read(one, out_one.data()),
                    second = cache.read(other, out_other.data());
  cache.insert(second, rows_of(second.ids, 4).data(), out_other.data());
  cache.insert(first, rows_of(first.ids, 4).data(), out_one.data());
  CHECK(out_one == rows_of(one, 4));
  CHECK(out_other == rows_of(other, 4));
  std::vector<char> again(4 * 4);
  gather(cache, other, again, 4);
  CHECK(again == out_other);
}
