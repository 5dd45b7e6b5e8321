// Rows of a disk against the same rows of the mapping: every dtype and form, to the bit.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "ramet/error.h"
#include "ramet/row_files.h"
#include "support/row_reader_fixture.h"
#include "tables/source_fixture.h"

using namespace ramet;
using namespace ramet::test;

namespace {

constexpr int64_t kDiskRows = 500, kColumns = 5;

std::vector<float> scales(int64_t count) {
  std::vector<float> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = 0.01F * static_cast<float>(i + 1);
  return result;
}

// Rows of small floats, or of any bytes, in a file, mapped.
Array mapped_rows(const std::string& path, DType dtype, bool is_bfloat16 = false) {
  std::string bytes(static_cast<size_t>(kDiskRows * kColumns * item_size(dtype)), '\0');
  for (size_t i = 0; i < bytes.size(); ++i)  // bit 6 is clear: no exponent of all ones
    bytes[i] = static_cast<char>(mix64(i) & 0xbf);
  write_file(path, bytes);
  RowFile file = inspect_raw(path, dtype, {kColumns});
  if (is_bfloat16) file = file.as_bfloat16();
  return map_rows(std::vector{file}, kDiskRows);
}

std::vector<Table> tables_in(const TempDir& folder) {
  std::vector<Table> tables;
  for (const DType dtype :
       {DType::kInt64, DType::kUInt8, DType::kFloat64, DType::kFloat32, DType::kFloat16})
    tables.emplace_back(mapped_rows(folder / std::string(name(dtype)), dtype), name(dtype));
  tables.emplace_back(mapped_rows(folder / "bfloat16", DType::kUInt16, true), "bfloat16");
  static const std::vector<float> by_row = scales(kDiskRows), by_column = scales(kColumns);
  Array scale = borrow(by_row);
  scale.shape = {kDiskRows, 1};
  tables.emplace_back(mapped_rows(folder / "by row", DType::kInt8), scale, "by row");
  scale = borrow(by_column);
  scale.shape = {1, kColumns};
  tables.emplace_back(mapped_rows(folder / "by column", DType::kInt8), scale, "by column");
  return tables;
}

std::vector<RowSourceOptions> forms_of(const Table& table) {
  std::vector<RowSourceOptions> forms{{.decode = true}, {.decode = false}};
  if (table.is_encoded() || table.rows().dtype == DType::kFloat32)
    forms.push_back({.decode = true, .as_bfloat16 = true});
  return forms;
}

std::shared_ptr<RowReader> reader_of(const Table& table, const ReadKind& kind) {
  return RowReader::open(files_of(table.rows()), table.rows().row_bytes(), options_of(kind));
}

}  // namespace

TEST_CASE("rows of a disk are those in memory, of every dtype and in every form") {
  const TempDir folder;
  const ReadContext context{.pool = BufferPool::create(), .threads = 2};
  for (const Table& table : tables_in(folder))
    for (const RowSourceOptions& form : forms_of(table))
      for (const ReadKind& kind : read_kinds()) {
        CAPTURE(table.name());
        const auto in_place = make_row_source(table, form);
        RowSourceOptions options = form;
        options.placement = Location::kDisk;
        options.reader = reader_of(table, kind);
        const auto disk = make_row_source(table, options);
        CHECK(disk->reads_ahead());
        CHECK(!in_place->reads_ahead());
        CHECK(disk->form().dtype == in_place->form().dtype);
        for (const size_t count : {0, 1, 300}) {
          const auto ids = drawn_ids(count, kDiskRows, count);
          const Array some = borrow(ids);
          const GatheredRows got = disk->submit(some, context)->complete();
          require_equal(in_place->submit(some, context)->complete().rows, got.rows);
          CHECK((got.read.requests > 0) == (count > 0));
          CHECK(got.read.rows <= std::ssize(ids));
          CHECK(got.read_seconds >= 0);
        }
      }
}

TEST_CASE("reads of a disk may be outstanding together, and be dropped") {
  const TempDir folder;
  const Table table(mapped_rows(folder / "half", DType::kFloat16), "half");
  const std::vector<int64_t> some_rows{1, 5, 7};
  for (const bool is_cached : {false, true})
    for (const ReadKind& kind : read_kinds()) {
      auto disk =
          make_row_source(table, {.placement = Location::kDisk, .reader = reader_of(table, kind)});
      if (is_cached) disk = with_preloaded_rows(disk, kDiskRows, some_rows);
      CHECK(disk->reads_ahead());
      check_outstanding(*disk, table, 10);
    }
}

TEST_CASE("an id outside the table is an error as in memory, and the source stays usable") {
  const TempDir folder;
  const ReadContext context{.pool = BufferPool::create()};
  const Table table(mapped_rows(folder / "half", DType::kFloat16), "half");
  const auto disk = make_row_source(
      table, {.placement = Location::kDisk, .reader = reader_of(table, read_kinds().back())});
  const std::vector<int64_t> bad{1, kDiskRows}, good{1};
  CHECK_THROWS_WITH(disk->submit(borrow(bad), context),
                    "ids[1] = 500 is outside the 500 rows of half");
  require_equal(table.gather_float32(good), disk->submit(borrow(good), context)->complete().rows);
}

TEST_CASE("a file that was cut short is an error when its rows are handed out") {
  const TempDir folder;
  const ReadContext context{.pool = BufferPool::create()};
  const std::string path = folder / "whole";
  const Table table(mapped_rows(path, DType::kFloat32), "whole");
  for (const ReadKind& kind : read_kinds()) {
    static_cast<void>(mapped_rows(path, DType::kFloat32));  // whole again, in the same file
    const auto disk =
        make_row_source(table, {.placement = Location::kDisk, .reader = reader_of(table, kind)});
    std::filesystem::resize_file(path, 100);
    const std::vector<int64_t> ids{400};
    const auto read = disk->submit(borrow(ids), context);
    CHECK_THROWS_AS(read->complete(), Error);
  }
}
