// Sources of rows in host memory: what they hand out against Table, in any order of completion.
#include "tables/row_source.h"

#include <doctest/doctest.h>

#include <vector>

#include "tables/source_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kSourceRows = 60;

using Source = std::shared_ptr<const RowSource>;

// A source, alone and behind every kind of cache.
std::vector<Source> every_source(const Table& table, bool decode) {
  const Source plain = make_row_source(table, {.decode = decode});
  std::vector<int64_t> ids;
  std::vector<Source> sources{plain};
  for (int64_t id = 0; id < kSourceRows; ++id) {
    if (id % 11 == 0) sources.push_back(with_preloaded_rows(plain, kSourceRows, ids));
    ids.push_back((7 * id + 3) % kSourceRows);
  }
  sources.push_back(with_preloaded_rows(plain, kSourceRows, ids));
  return sources;
}

std::vector<Source> all_sources(const Table& table) {
  std::vector<Source> sources = every_source(table, true);
  for (const Source& source : every_source(table, false))
    sources.push_back(source);
  return sources;
}

}  // namespace

TEST_CASE("reads may be outstanding together, and be completed in any order or dropped") {
  const Table table = half_table(kSourceRows);
  for (const Source& source : all_sources(table))
    check_outstanding(*source, table, 20);
}

TEST_CASE("a source says in which form it hands out rows") {
  const Table table = half_table(kSourceRows);
  const auto decoded = make_row_source(table, {.decode = true});
  CHECK(decoded->form().dtype == DType::kFloat32);
  CHECK(decoded->form().shape == std::vector<int64_t>{5});
  CHECK(decoded->form().row_bytes() == 20);
  CHECK(make_row_source(table, {.decode = false})->form().row_bytes() == 10);
  CHECK(decoded->ids_device() == kHost);
}

TEST_CASE("rows that the cache had are hits, others misses") {
  const ReadContext context{.pool = BufferPool::create()};
  const auto plain = make_row_source(half_table(kSourceRows), {});
  const Source source = with_preloaded_rows(plain, kSourceRows, std::vector<int64_t>{4, 1});
  const auto stats_of = [&](const std::vector<int64_t>& ids) {
    return source->submit(borrow(ids), context)->complete().cache;
  };
  CHECK(stats_of({}) == CacheStats{0, 0});
  for (int batch = 0; batch < 2; ++batch)
    CHECK(stats_of({3, 1, 4, 2, 1}) == CacheStats{3, 2});
  const std::vector<int64_t> held{1};
  CHECK(plain->submit(borrow(held), context)->complete().cache == CacheStats{0, 0});
}

TEST_CASE("an id outside the table is an error, and the source stays usable") {
  const Table table = half_table(kSourceRows);
  const ReadContext context{.pool = BufferPool::create()};
  const auto source = make_row_source(table, {});
  const std::vector<int64_t> bad{1, kSourceRows};
  CHECK_THROWS_WITH(with_preloaded_rows(source, kSourceRows, bad),
                    "ids[1] = 60 is outside the 60 rows of half");
  const Source kept = with_preloaded_rows(source, kSourceRows, std::vector<int64_t>{2});
  CHECK_THROWS_WITH(kept->submit(borrow(bad), context)->complete(),
                    "ids[1] = 60 is outside the 60 rows of half");
  CHECK_THROWS_WITH(source->submit(borrow(bad), context)->complete(),
                    "ids[1] = 60 is outside the 60 rows of half");
  const std::vector<int64_t> good{1};
  require_equal(table.gather_float32(good), source->submit(borrow(good), context)->complete().rows);
}
