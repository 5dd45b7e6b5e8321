// Costs that a reader learns from its own requests, of simulated disks on a simulated clock.
#include "storage/row_reader/learned_costs.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "ramet/random.h"

using namespace ramet;

namespace {

constexpr double kRequestSeconds = 12e-6, kByteSeconds = 1e-9;
constexpr double kDepth = 128;  // requests under way

// The seconds of a request where many are under way.
using Disk = double (*)(double bytes);

double sum_of_both(double bytes) {
  return kRequestSeconds + bytes * kByteSeconds;
}
double fast(double bytes) {
  return (kRequestSeconds + bytes * kByteSeconds) / 8;
}
double larger_of_both(double bytes) {  // of a disk with a limit to each
  return std::max(kRequestSeconds, bytes * kByteSeconds);
}

// A reader of rows of a file of 2 GB, in the order of files, as a disk with a queue serves it. Its
// plans have `plan_rows` rows; where it is `idle` before each, the first request takes longer.
class Reading {
 public:
  Reading(int64_t row_bytes, Disk disk, double gap, size_t plan_rows = 2000, bool idle = false)
      : disk_(disk), plan_rows_(plan_rows), idle_(idle) {
    options_.row_bytes = row_bytes;
    options_.block = 512;
    options_.most_bytes = 256 << 10;
    spans_ = {{"rows", 128, (int64_t{2} << 30) / row_bytes, 0}};
    costs_.byte_seconds = kByteSeconds;
    costs_.request_seconds = gap * kByteSeconds;
  }

  struct Rates {
    double rows = 0, bytes_of_row = 0;  // rows: a second
  };

  // Reads for so many seconds, a row of `one_of` each time; the disk is `slower`, and at times
  // more.
  Rates read(double seconds, int64_t one_of, double slower = 1) {
    const double end = now_ + seconds, begin = now_;
    ReadCounts counts;
    while (now_ < end) {
      PlanOptions options = options_;
      options.request_seconds = costs_.request_seconds;
      options.byte_seconds = costs_.byte_seconds;
      options.trial = learner_.trial();
      const ReadPlan plan = plan_requests(spans_, drawn(one_of), options);
      learner_.set_trial(plan.trial_left);
      if (idle_) {
        learner_.observe(false, now_);
        learner_.observe(true, now_);
        now_ += kDepth * disk_(static_cast<double>(plan.requests[0].size));
      }
      for (const ReadRequest& request : plan.requests) {
        const bool stalls = slower > 1 && mix64(++draw_) % 500 == 0;
        now_ += disk_(static_cast<double>(request.size)) * slower * noise() + (stalls ? 0.01 : 0);
        learner_.finished(request);
        learner_.observe(true, now_);
      }
      counts += plan.counts;
    }
    const auto rows = static_cast<double>(counts.rows);
    return {rows / (now_ - begin), static_cast<double>(counts.bytes) / rows};
  }

  [[nodiscard]] double gap() const { return costs_.request_seconds / costs_.byte_seconds; }

  // Rows a second with one request each.
  [[nodiscard]] double one_a_row() const {
    const int64_t width = options_.row_bytes, block = options_.block;
    const double bytes = static_cast<double>(width) + (width % block == 0 ? 128 : 512);
    return 1 / disk_(bytes);
  }

 private:
  double noise() { return 0.8 + 0.4 * static_cast<double>(mix64(++draw_) >> 11) * 0x1p-53; }

  std::vector<int64_t> drawn(int64_t one_of) {
    std::vector<int64_t> ids;
    const auto most = static_cast<uint64_t>(2 * one_of - 1);
    int64_t id = static_cast<int64_t>(mix64(++draw_) % 100'000);
    for (; id < spans_[0].num_rows && ids.size() < plan_rows_;
         id += 1 + static_cast<int64_t>(mix64(++draw_) % most))
      ids.push_back(id);
    return ids;
  }

  Disk disk_;
  size_t plan_rows_;
  bool idle_;
  PlanOptions options_;
  std::vector<RowSpan> spans_;
  CurrentCosts costs_;
  CostLearner learner_{costs_};
  double now_ = 0;
  uint64_t draw_ = 0;
};

constexpr Disk kDisks[] = {sum_of_both, larger_of_both};

}  // namespace

TEST_CASE("after a bad start, merging comes to pay again") {
  for (const Disk disk : kDisks)
    for (const int64_t row_bytes : {400, 4096, 8192})
      for (const int64_t distance : {8 << 10, 64 << 10})  // bytes between rows
        for (const double gap : {100.0, 256e3}) {
          CAPTURE(row_bytes);
          CAPTURE(distance);
          CAPTURE(gap);
          Reading reading(row_bytes, disk, gap);
          const int64_t one_of = std::max<int64_t>(distance / row_bytes, 1);
          reading.read(3, one_of, 10);  // while others use the disk
          reading.read(3, one_of);
          const auto rates = reading.read(2, one_of);
          CHECK(rates.rows > 0.97 * reading.one_a_row());
          CHECK(rates.bytes_of_row < static_cast<double>(row_bytes) + 16e3);
        }
}

TEST_CASE("rows close to each other are merged though requests were said to cost nothing") {
  for (const Disk disk : kDisks) {
    Reading reading(512, disk, 100);
    reading.read(3, 7);
    CHECK(reading.read(2, 7).rows > 2 * reading.one_a_row());
  }
}

TEST_CASE("the latency of a plan's first requests is not taken for their cost") {
  for (const size_t plan_rows : {2000, 60'000}) {
    CAPTURE(plan_rows);
    Reading reading(4096, sum_of_both, 100e3, plan_rows, true);
    reading.read(8, 8);
    CHECK(reading.gap() > 0.85 * kRequestSeconds / kByteSeconds);
    CHECK(reading.gap() < 1.15 * kRequestSeconds / kByteSeconds);
  }
}

TEST_CASE("a disk is learned that serves a trial's requests in less than a window") {
  for (const bool idle : {false, true}) {
    CAPTURE(idle);
    Reading reading(4096, fast, 100e3, 60'000, idle);
    reading.read(4, 8);
    CHECK(reading.gap() > 0.85 * kRequestSeconds / kByteSeconds);
    CHECK(reading.gap() < 1.15 * kRequestSeconds / kByteSeconds);
  }
}

TEST_CASE("single rows are tried in the middle of a large plan") {
  const RowSpan span{"rows", 0, 10'000, 0};
  std::vector<int64_t> ids(10'000);
  std::iota(ids.begin(), ids.end(), 0);
  const ReadPlan plan = plan_requests(
      {&span, 1}, ids, {.row_bytes = 4096, .block = 512, .most_bytes = 8192, .trial = {3, 0}});
  const auto is_alone = [](const auto& request) { return request.kind == RequestKind::kAlone; };
  const auto first = std::find_if(plan.requests.begin(), plan.requests.end(), is_alone);
  REQUIRE(first != plan.requests.end());
  CHECK(first->first_copy == 5000);
  CHECK(std::count_if(first, plan.requests.end(), is_alone) == 3);
}

TEST_CASE("what is tried takes little, and nothing is learned of workers that wait for rows") {
  Reading right(4096, sum_of_both, kRequestSeconds / kByteSeconds);
  const double first = right.read(3, 8).rows;
  CHECK(right.read(3, 8).rows > 0.95 * first);

  CurrentCosts costs{1e-6, 1e-9};
  CostLearner learner(costs);
  const ReadTrial trial = learner.trial();
  CHECK(trial.alone > 0);
  CHECK(trial.wide > 0);
  const RequestKind kinds[] = {RequestKind::kAlone, RequestKind::kWide, RequestKind::kUsual};
  for (int i = 0; i < 10'000; ++i) {
    learner.finished({0, 0, int64_t{4096} << (i / 1000 % 3), 1, 0, 0, kinds[i / 1000 % 3]});
    learner.observe(i % 2 == 0, 1e-3 * i);
  }
  CHECK(costs.request_seconds == 1e-6);
  CHECK(costs.byte_seconds == 1e-9);
}
