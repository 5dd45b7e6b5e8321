// Rows read from files, by io_uring and by threads, past the page cache and through it.
#include "ramet/row_reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/system/space.h"
#include "ramet/error.h"
#include "support/fork.h"
#include "support/process_entries.h"
#include "support/row_reader_fixture.h"
#include "support/slow_build.h"
#include "support/threads.h"

using namespace ramet;
using namespace ramet::test;

TEST_CASE("rows of any width and offset come as they are, in the order of the ids") {
  const TempDir folder;
  for (const int64_t row_bytes : {1, 400, 512, 1204, 4096})
    for (const int64_t offset :
         kSlowBuild ? std::vector<int64_t>{128} : std::vector<int64_t>{0, 128, 4096}) {
      const int64_t rows = 300;
      const RowSpan span = write_marked(folder / "rows", row_bytes, 0, rows, offset);
      for (const ReadKind& kind : read_kinds())
        for (const double request_seconds : {0.0, 1e-6, 1.0}) {
          CAPTURE(row_bytes);
          CAPTURE(offset);
          CAPTURE(kind.direct);
          const auto reader = RowReader::open({span}, row_bytes, options_of(kind, request_seconds));
          CAPTURE(reader->how());
          std::vector<int64_t> all(rows);
          std::iota(all.begin(), all.end(), 0);
          std::reverse(all.begin(), all.end());
          CHECK(check_rows(*reader, all, row_bytes).rows == rows);
          CHECK(check_rows(*reader, {rows - 1}, row_bytes).requests == 1);
          check_rows(*reader, drawn_ids(500, rows, 3), row_bytes);
          CHECK(check_rows(*reader, {}, row_bytes) == ReadCounts{});
        }
    }
}

TEST_CASE("what reading rows takes is planned without a read") {
  const TempDir folder;
  const std::vector<RowSpan> spans{write_marked(folder / "a", 400, 0, 900, 128),
                                   write_marked(folder / "b", 400, 1000, 2000, 4000)};
  for (const ReadKind& kind : read_kinds())
    for (const double request_seconds : {0.0, 1e-6, 1.0}) {
      const auto reader = RowReader::open(spans, 400, options_of(kind, request_seconds));
      for (const size_t count : {0, 1, 30, 700}) {
        std::vector<int64_t> ids = drawn_ids(count, 2900, count);
        for (int64_t& id : ids)
          id += id >= 900 ? 100 : 0;
        const ReadCounts planned = reader->plan(ids);
        CHECK(planned == check_rows(*reader, ids, 400));
        CHECK((planned.requests == 0) == ids.empty());
        std::reverse(ids.begin(), ids.end());
        CHECK(planned == reader->plan(ids));
      }
      CHECK_THROWS_WITH(
          reader->plan(std::vector<int64_t>{0, 950}),
          ("ids[1] = 950 is no row of " + (folder / "a") + " and the 1 files after it").c_str());
    }
}

TEST_CASE("a table's rows are read from its files, whatever rows each has") {
  const TempDir folder;
  const std::vector<RowSpan> spans{write_marked(folder / "a", 100, 0, 50, 128),
                                   write_marked(folder / "b", 100, 64, 1, 0),
                                   write_marked(folder / "c", 100, 70, 500, 4000)};
  for (const ReadKind& kind : read_kinds()) {
    const auto reader = RowReader::open(spans, 100, options_of(kind));
    check_rows(*reader, {569, 0, 64, 70, 49, 64}, 100);
    std::vector<std::byte> out(100);
    CHECK_THROWS_WITH(
        reader->submit(std::vector<int64_t>{50}, out.data()),
        ("ids[0] = 50 is no row of " + (folder / "a") + " and the 2 files after it").c_str());
  }
}

TEST_CASE("a row that is wider than a request is one request") {
  const TempDir folder;
  const int64_t row_bytes = 700'001;
  const RowSpan span = write_marked(folder / "rows", row_bytes, 0, 3, 5);
  for (const ReadKind& kind : read_kinds()) {
    const auto reader = RowReader::open({span}, row_bytes, options_of(kind));
    CHECK(check_rows(*reader, {2, 0}, row_bytes).requests == 2);
  }
}

TEST_CASE("rows side by side are few requests, and read no more than their blocks") {
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 512, 0, 4000, 128);
  for (const ReadKind& kind : read_kinds()) {
    const auto reader = RowReader::open({span}, 512, options_of(kind));
    std::vector<int64_t> all(4000);
    std::iota(all.begin(), all.end(), 0);
    const ReadCounts counts = check_rows(*reader, all, 512);
    CHECK(counts.requests == 8);
    CHECK(counts.bytes <= 4000 * 512 + 8 * 2 * 4096);
    const auto single = RowReader::open({span}, 512, options_of(kind, 0));
    CHECK(check_rows(*single, {0, 100, 200}, 512).requests == 3);
  }
}

TEST_CASE("many reads are under way together, are completed in any order, or dropped") {
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 400, 0, 5000, 128);
  for (const ReadKind& kind : read_kinds()) {
    const auto reader = RowReader::open({span}, 400, options_of(kind, 0));
    for (uint64_t round = 0; round < 10; ++round) {
      std::vector<std::string> outs(8, std::string(400 * 200, '?'));
      std::vector<std::unique_ptr<PendingRows>> reads;
      for (uint64_t k = 0; k < 8; ++k)
        reads.push_back(reader->submit(drawn_ids(200, 5000, 8 * round + k), outs[k].data()));
      for (uint64_t k = 0; k < 8; ++k) {
        const uint64_t which = (3 * k + round) % 8;
        if (which % 3 != 0) reads[which]->complete();
        reads[which].reset();
        if (which % 3 == 0) continue;
        const auto ids = drawn_ids(200, 5000, 8 * round + which);
        for (size_t i = 0; i < ids.size(); ++i)
          REQUIRE(outs[which].substr(400 * i, 400) == marked_row(ids[i], 400));
      }
    }
  }
}

TEST_CASE("threads share a reader") {
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 400, 0, 3000, 128);
  for (const ReadKind& kind : read_kinds()) {
    const auto reader = RowReader::open({span}, 400, options_of(kind));
    std::atomic<int> wrong = 0;
    in_threads(4, [&](int t) {
      for (int round = 0; round < 30; ++round) {
        const auto ids = drawn_ids(100, 3000, static_cast<uint64_t>(100 * t + round));
        std::string out(400 * ids.size(), '?');
        reader->submit(ids, out.data())->complete();
        for (size_t i = 0; i < ids.size(); ++i)
          if (out.compare(400 * i, 400, marked_row(ids[i], 400)) != 0) ++wrong;
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("a reader may go while its reads are there, and leaves no descriptor and no thread") {
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 512, 0, 2000, 128);
  static_cast<void>(read_kinds());
  const int64_t descriptors = open_descriptors(), threads = running_threads();
  for (const ReadKind& kind : read_kinds()) {
    auto reader = RowReader::open({span}, 512, options_of(kind, 0));
    CHECK(open_descriptors() > descriptors);
    const auto ids = drawn_ids(1500, 2000, 1);
    std::string out(512 * ids.size(), '?');
    auto read = reader->submit(ids, out.data());
    reader.reset();
    read->complete();
    CHECK(out.substr(0, 512) == marked_row(ids[0], 512));
    read.reset();
    CHECK(open_descriptors() == descriptors);
  }
  CHECK(running_threads() == threads);
}

TEST_CASE("a forked child reads with threads of its own, and not what the parent asked for") {
  if (kNoThreadsAfterFork) return;
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 512, 0, 2000, 128);
  for (const ReadKind& kind : read_kinds()) {
    const auto reader = RowReader::open({span}, 512, options_of(kind, 0));
    const auto ids = drawn_ids(1500, 2000, 1);
    std::string out(512 * ids.size(), '?');
    auto read = reader->submit(ids, out.data());
    CHECK(holds_in_child([&] {
      bool refused = false;
      try {
        read->complete();
      } catch (const Error& error) {
        refused = error.code() == ErrorCode::kInvalidArgument;
      }
      read.reset();
      std::string own(512, '?');
      reader->submit(std::vector<int64_t>{7}, own.data())->complete();
      return refused && own == marked_row(7, 512);
    }));
    read->complete();
    for (size_t i = 0; i < ids.size(); ++i)
      REQUIRE(out.substr(512 * i, 512) == marked_row(ids[i], 512));
  }
}

// docs/caches.md, "What the disk gives": of files that memory may hold there is no disk's rate.
static std::string expected_problem(const std::string& path, const std::string& how) {
  if (is_in_memory(path)) return path + " lies in memory";
  if (how.find("direct") != std::string::npos) return "";
  return path + " is read through the page cache, which may hold it: that is no disk's rate";
}

TEST_CASE("costs are measured when a reader is opened, unless they are given") {
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 4096, 0, 2000, 128);
  for (const ReadKind& kind : read_kinds()) {
    RowReaderOptions options{.method = kind.method, .direct = kind.direct};
    const auto measured = RowReader::open({span}, 4096, options);
    CAPTURE(measured->how());
    CHECK(measured->request_seconds() > 0);
    CHECK(measured->byte_seconds() > 0);
    CHECK(measured->rows_per_second() > 0);
    CHECK(measured->costs_problem() == expected_problem(span.path, measured->how()));
    CHECK(measured->memory_bytes() >= 128 * 4096);
    CHECK(measured->memory_bytes() <= int64_t{128} << 20);
    check_rows(*measured, drawn_ids(50, 2000, 1), 4096);
    options.request_seconds = 0.25;
    options.byte_seconds = 0.5;
    const auto given = RowReader::open({span}, 4096, options);
    CHECK(given->request_seconds() == 0.25);
    CHECK(given->byte_seconds() == 0.5);
    CHECK(given->costs_problem().empty());
  }
}

TEST_CASE("files that are too small to measure the disk with have the costs of a usual one") {
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 512, 0, 10, 0);
  const auto reader = RowReader::open({span}, 512);
  CHECK(reader->request_seconds() == 10e-6);
  CHECK(reader->byte_seconds() == 1e-9);
  CHECK(reader->costs_problem() == "no file has 4 MiB of rows to measure it with");
  CHECK(RowReader::open({}, 512)->costs_problem() == reader->costs_problem());
}

TEST_CASE("a reader says how it reads") {
  const TempDir folder;
  const RowSpan span = write_marked(folder / "rows", 512, 0, 10, 0);
  const auto threads = RowReader::open({span}, 512, options_of({ReadMethod::kThreads, false}));
  CHECK(threads->how() == "16 threads, buffered");
  const auto best = RowReader::open({span}, 512);
  CHECK(best->how().starts_with(io_uring_problem().empty() ? "io_uring, " : "32 threads, "));
}
