#include "plan_requests.h"

#include <algorithm>

#include "ramet/error.h"
#include "storage/segment.h"

namespace ramet {
namespace {

bool holds(const RowSpan& span, int64_t id) {
  return id >= span.first_row && id - span.first_row < span.num_rows;
}

// The span with the last rows that begin at `id` or before.
const RowSpan* span_before(std::span<const RowSpan> spans, int64_t id) {
  const auto after =
      std::upper_bound(spans.begin(), spans.end(), id,
                       [](int64_t row, const RowSpan& span) { return row < span.first_row; });
  return after == spans.begin() ? nullptr : &*(after - 1);
}

void check_ids(std::span<const RowSpan> spans, std::span<const int64_t> ids) {
  const RowSpan* span = spans.empty() ? nullptr : &spans.front();
  for (size_t i = 0; i < ids.size(); ++i) {
    if (span != nullptr && holds(*span, ids[i])) continue;
    span = span_before(spans, ids[i]);
    if (span != nullptr && holds(*span, ids[i])) continue;
    if (spans.empty())
      throw_error(ErrorCode::kOutOfRange, "ids[", i, "] = ", ids[i], ", but there are no rows");
    if (spans.size() > 1)
      throw_error(ErrorCode::kOutOfRange, "ids[", i, "] = ", ids[i], " is no row of ",
                  spans.front().path, " and the ", spans.size() - 1, " files after it");
    throw_error(ErrorCode::kOutOfRange, "ids[", i, "] = ", ids[i], " is outside the ",
                spans.front().num_rows, " rows of ", spans.front().path);
  }
}

std::vector<RowCopy> sorted_by_id(std::span<const int64_t> ids) {
  std::vector<RowCopy> copies(ids.size());
  for (size_t i = 0; i < ids.size(); ++i)
    copies[i] = {ids[i], static_cast<int64_t>(i)};
  const auto before = [](const RowCopy& a, const RowCopy& b) { return a.at < b.at; };
  if (!std::is_sorted(copies.begin(), copies.end(), before))
    std::sort(copies.begin(), copies.end(), before);
  return copies;
}

constexpr int64_t kLargeRequest = int64_t{64} << 10;
constexpr double kLeastWideGap = 8192;
constexpr size_t kLargePlan = 4096;  // rows

// Adds rows to the last request, or begins another.
class Planner {
 public:
  Planner(ReadPlan& plan, const PlanOptions& options)
      : plan_(plan),
        options_(options),
        before_trial_(plan.copies.size() > kLargePlan ? plan.copies.size() / 2 : 0) {
    plan_.trial_left = options.trial;
  }

  // The bytes [begin, end) of the file `span`, behind those before.
  void add(size_t span, int64_t begin, int64_t end) {
    const int64_t from = begin / options_.block * options_.block;
    const int64_t to = round_up(end, options_.block);
    if (!extends(span, from, to)) {
      const size_t copy = plan_.requests.empty() ? 0 : plan_.requests.back().end_copy;
      plan_.requests.push_back({span, from, 0, 0, copy, copy, next_kind()});
    }
    ReadRequest& request = plan_.requests.back();
    request.size = to - request.offset;
    request.needed = end - request.offset;
  }

 private:
  [[nodiscard]] bool extends(size_t span, int64_t from, int64_t to) const {
    if (plan_.requests.empty()) return false;
    const ReadRequest& last = plan_.requests.back();
    if (last.span != span || to - last.offset > options_.most_bytes) return false;
    const auto gap = static_cast<double>(from - (last.offset + last.size));
    if (gap < 0 || last.kind == RequestKind::kAlone) return gap < 0;
    if (last.kind == RequestKind::kWide)
      return gap < wide_gap(options_.request_seconds / options_.byte_seconds);
    return gap * options_.byte_seconds < options_.request_seconds;
  }

  // The middle of a large plan is tried: workers may be slow, or fast, at first.
  RequestKind next_kind() {
    const size_t rows = plan_.requests.empty() ? 0 : plan_.requests.back().end_copy;
    if (rows < before_trial_) return RequestKind::kUsual;
    ReadTrial& left = plan_.trial_left;
    if (left.alone > 0) {
      --left.alone;
      return RequestKind::kAlone;
    }
    if (!plan_.requests.empty() && plan_.requests.back().kind == RequestKind::kWide)
      left.wide -= plan_.requests.back().size / kLargeRequest;
    if (left.wide <= 0) return RequestKind::kUsual;
    --left.wide;
    return RequestKind::kWide;
  }

  ReadPlan& plan_;
  const PlanOptions& options_;
  size_t before_trial_;  // rows
};

}  // namespace

double wide_gap(double bytes) {
  return std::max(2 * bytes, kLeastWideGap);
}

int64_t most_bytes_of_row(int64_t row_bytes, int64_t block) {
  return round_up(row_bytes + block - 1, block);
}

ReadPlan plan_requests(std::span<const RowSpan> spans,
                       std::span<const int64_t> ids,
                       const PlanOptions& options) {
  check_ids(spans, ids);
  ReadPlan plan;
  if (options.row_bytes == 0) return plan;
  plan.copies = sorted_by_id(ids);
  Planner planner(plan, options);
  size_t span = 0;
  int64_t last_id = -1;
  for (size_t i = 0; i < plan.copies.size(); ++i) {
    RowCopy& copy = plan.copies[i];
    const int64_t id = copy.at;
    while (!holds(spans[span], id))
      ++span;
    const int64_t begin = spans[span].offset + (id - spans[span].first_row) * options.row_bytes;
    if (id != last_id) {
      planner.add(span, begin, begin + options.row_bytes);
      ++plan.counts.rows;
      last_id = id;
    }
    ReadRequest& request = plan.requests.back();
    copy.at = begin - request.offset;
    request.end_copy = i + 1;
  }
  plan.counts.requests = std::ssize(plan.requests);
  for (const ReadRequest& request : plan.requests)
    plan.counts.bytes += request.size;
  return plan;
}

}  // namespace ramet
