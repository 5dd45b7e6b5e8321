// Which requests read given rows, against a list of the bytes that each row needs.
#include "storage/row_reader/plan_requests.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ramet/error.h"
#include "ramet/random.h"

using namespace ramet;

namespace {

const std::vector<RowSpan> kOne{{"one", 192, 1000, 0}};
const std::vector<RowSpan> kThree{{"a", 128, 300, 0}, {"b", 4096, 7, 500}, {"c", 0, 700, 1024}};

constexpr double kNever = 0, kAlways = 1;  // seconds of a request

PlanOptions options_of(int64_t row_bytes,
                       int64_t block,
                       int64_t most_bytes,
                       double request_seconds) {
  return {.row_bytes = row_bytes,
          .block = block,
          .most_bytes = most_bytes,
          .request_seconds = request_seconds,
          .byte_seconds = 1e-3};
}

const RowSpan& span_of(const std::vector<RowSpan>& spans, int64_t id) {
  return *std::find_if(spans.begin(), spans.end(), [id](const RowSpan& span) {
    return id >= span.first_row && id < span.first_row + span.num_rows;
  });
}

// Every id comes once, from the bytes where its row is, in requests that do not begin before the
// one before them.
void check_plan(const std::vector<RowSpan>& spans,
                const std::vector<int64_t>& ids,
                const PlanOptions& options) {
  const ReadPlan plan = plan_requests(spans, ids, options);
  std::set<int64_t> outputs;
  size_t copy = 0;
  int64_t bytes = 0;
  for (const ReadRequest& request : plan.requests) {
    CHECK(request.offset % options.block == 0);
    CHECK(request.size % options.block == 0);
    CHECK(request.needed <= request.size);
    CHECK(request.size - request.needed < options.block);
    CHECK(request.size <=
          std::max(options.most_bytes, most_bytes_of_row(options.row_bytes, options.block)));
    REQUIRE(request.first_copy == copy);
    REQUIRE(request.end_copy > copy);
    bytes += request.size;
    for (; copy < request.end_copy; ++copy) {
      const RowCopy& row = plan.copies[copy];
      const int64_t id = ids.at(static_cast<size_t>(row.to));
      const RowSpan& span = span_of(spans, id);
      CHECK(&span == &spans[request.span]);
      CHECK(request.offset + row.at == span.offset + (id - span.first_row) * options.row_bytes);
      CHECK(row.at >= 0);
      CHECK(row.at + options.row_bytes <= request.needed);
      outputs.insert(row.to);
    }
  }
  CHECK(copy == ids.size());
  CHECK(outputs.size() == ids.size());
  CHECK(plan.counts == ReadCounts{std::ssize(std::set<int64_t>(ids.begin(), ids.end())),
                                  std::ssize(plan.requests), bytes});
}

std::vector<int64_t> random_ids(const std::vector<RowSpan>& spans, size_t count, uint64_t key) {
  std::vector<int64_t> ids(count);
  for (size_t i = 0; i < count; ++i) {
    const RowSpan& span = spans[absorb(key, 2 * i) % spans.size()];
    ids[i] = span.first_row +
             static_cast<int64_t>(absorb(key, 2 * i + 1) % static_cast<uint64_t>(span.num_rows));
  }
  return ids;
}

int64_t requests_of(const std::vector<int64_t>& ids, const PlanOptions& options) {
  return plan_requests(kOne, ids, options).counts.requests;
}

}  // namespace

TEST_CASE("every row is in one request, whatever the width, block and cost") {
  for (const int64_t row_bytes : {1, 7, 400, 512, 1204, 4096, 9000})
    for (const int64_t block : {1, 512, 4096})
      for (const double request_seconds : {kNever, 0.3, kAlways * 100})
        for (const int64_t most_bytes : {4096, 65536})
          for (const size_t count : {0, 1, 5, 800})
            for (const auto& spans : {kOne, kThree}) {
              CAPTURE(row_bytes);
              CAPTURE(block);
              CAPTURE(request_seconds);
              const auto key = static_cast<uint64_t>(row_bytes * 10 + block) + count;
              check_plan(spans, random_ids(spans, count, key),
                         options_of(row_bytes, block, most_bytes, request_seconds));
            }
}

TEST_CASE("a gap is read through where its bytes cost less than a request") {
  // Rows of 100 bytes, a millisecond a byte: between rows 0 and 3 are 200 bytes.
  CHECK(requests_of({0, 3}, options_of(100, 1, 65536, 0.201)) == 1);
  CHECK(requests_of({0, 3}, options_of(100, 1, 65536, 0.2)) == 2);
  CHECK(requests_of({3, 0}, options_of(100, 1, 65536, 0.201)) == 1);
  // Rows side by side are one request, unless a request is said to cost nothing.
  CHECK(requests_of({0, 1, 2}, options_of(100, 1, 65536, 1e-9)) == 1);
  CHECK(requests_of({0, 1, 2}, options_of(100, 1, 65536, kNever)) == 3);
  // In one block: the disk would read it twice.
  CHECK(requests_of({0, 1, 2}, options_of(100, 4096, 65536, kNever)) == 1);
}

TEST_CASE("no request is larger than the most bytes, but for a row that is") {
  std::vector<int64_t> all(1000);
  for (size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int64_t>(i);
  const ReadPlan plan = plan_requests(kOne, all, options_of(100, 512, 8192, kAlways));
  CHECK(plan.counts.rows == 1000);
  CHECK(plan.counts.requests == 13);
  CHECK(plan.counts.bytes <= 100 * 1000 + 13 * 1024);
  CHECK(requests_of({4, 9}, options_of(100'000, 512, 8192, kAlways)) == 2);
}

TEST_CASE("a row that is asked for twice is read once") {
  const ReadPlan plan =
      plan_requests(kOne, std::vector<int64_t>{7, 3, 7, 7}, options_of(100, 1, 4096, kNever));
  CHECK(plan.counts == ReadCounts{2, 2, 200});
  CHECK(plan.copies.size() == 4);
}

TEST_CASE("an id that is no row is an error that names the first of them") {
  const PlanOptions options = options_of(100, 1, 4096, kNever);
  const auto plan = [&](const std::vector<RowSpan>& spans, const std::vector<int64_t>& ids) {
    return plan_requests(spans, ids, options).counts.rows;
  };
  CHECK_THROWS_WITH(plan(kOne, {1, 1000, -1}), "ids[1] = 1000 is outside the 1000 rows of one");
  CHECK_THROWS_WITH(plan(kOne, {-1}), "ids[0] = -1 is outside the 1000 rows of one");
  CHECK_THROWS_WITH(plan(kThree, {0, 300}), "ids[1] = 300 is no row of a and the 2 files after it");
  CHECK_THROWS_WITH(plan(kThree, {506, 507}),
                    "ids[1] = 507 is no row of a and the 2 files after it");
  CHECK_THROWS_WITH(plan({}, {0}), "ids[0] = 0, but there are no rows");
  CHECK(plan(kThree, {0, 299, 500, 506, 1024, 1723}) == 6);
}

TEST_CASE("rows of no bytes need no request") {
  const ReadPlan plan =
      plan_requests(kOne, std::vector<int64_t>{1, 2}, options_of(0, 512, 4096, kNever));
  CHECK(plan.requests.empty());
  CHECK(plan.counts == ReadCounts{});
}
