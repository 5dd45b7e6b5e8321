#include "ramet/row_reader.h"

#include <unistd.h>

#include <algorithm>

#include "base/per_process.h"
#include "ramet/error.h"
#include "read_costs.h"
#include "read_workers.h"
#include "storage/segment.h"

namespace ramet {
namespace {

using Method = RowReaderOptions::Method;

constexpr int64_t kMostBytes = int64_t{256} << 10;  // of a request: larger ones are not faster
constexpr int64_t kMostMemory = int64_t{64} << 20;  // of all requests, where rows are wide
constexpr int kMostDepth = 4096;

std::unique_ptr<ReadWorkers> start_workers(ReadQueue& queue,
                                           const WorkerOptions& options,
                                           Method method) {
  if (method == Method::kThreads) return thread_workers(queue, options);
  try {
    return ring_workers(queue, options);
  } catch (const Error&) {
    if (method == Method::kIoUring) throw;
  }
  return thread_workers(queue, options);
}

// What one process reads with.
struct Engine {
  Engine(const WorkerOptions& options, const Method& method, CurrentCosts* costs)
      : learner(*costs), workers(start_workers(queue, options, method)) {}
  ~Engine() {
    queue.stop();
    workers.reset();
  }

  CostLearner learner;
  ReadQueue queue{learner};
  std::unique_ptr<ReadWorkers> workers;
};

void check_options(std::span<const RowSpan> spans,
                   int64_t row_bytes,
                   const RowReaderOptions& options) {
  if (options.depth < 1 || options.depth > kMostDepth)
    throw_invalid("a depth of ", options.depth, " requests, expected 1 to ", kMostDepth);
  if (row_bytes < 0) throw_invalid("rows of ", row_bytes, " bytes");
  int64_t end = 0;
  for (const RowSpan& span : spans) {
    if (span.first_row < end)
      throw_invalid("rows of ", span.path, " begin at ", span.first_row,
                    ", those before it end at ", end);
    end = span.first_row + span.num_rows;
  }
}

class Reader final : public RowReader, public std::enable_shared_from_this<Reader> {
 public:
  Reader(std::vector<RowSpan> spans, int64_t row_bytes, const RowReaderOptions& options)
      : spans_(std::move(spans)),
        files_(open_to_read_rows(spans_, row_bytes, options.direct)),
        method_(options.method) {
    plan_.row_bytes = row_bytes;
    plan_.block = files_.block;
    const int64_t slot = std::max(kMostBytes, most_bytes_of_row(row_bytes, files_.block));
    plan_.most_bytes = slot / files_.block * files_.block;
    const auto slots = std::max<int64_t>(kMostMemory / slot, 1);
    workers_ = {.files = &files_,
                .depth = static_cast<int>(std::min<int64_t>(options.depth, slots)),
                .slot_bytes = slot};
    memory_bytes_ = workers_.depth * slot;
    how_ = concat(engine().workers->name(), files_.direct ? ", direct, blocks of " : ", buffered");
    if (files_.direct) how_ += concat(files_.block, " bytes");
    set_costs(options);
  }

  std::unique_ptr<PendingRows> submit(std::span<const int64_t> ids, void* out) override;
  [[nodiscard]] ReadCounts plan(std::span<const int64_t> ids) const override {
    return plan_requests(spans_, ids, plan_options()).counts;
  }

  [[nodiscard]] int64_t row_bytes() const override { return plan_.row_bytes; }
  [[nodiscard]] std::string how() const override { return how_; }
  [[nodiscard]] double request_seconds() const override { return costs_.request_seconds; }
  [[nodiscard]] double byte_seconds() const override { return costs_.byte_seconds; }
  [[nodiscard]] std::string costs_problem() const override { return costs_problem_; }
  [[nodiscard]] double rows_per_second() const override {
    const auto bytes = static_cast<double>(round_up(plan_.row_bytes, plan_.block));
    return 1 / (request_seconds() + bytes * byte_seconds());
  }
  [[nodiscard]] int64_t memory_bytes() const override { return memory_bytes_; }

 private:
  class Pending;

  Engine& engine() { return engine_.get(workers_, method_, &costs_); }

  [[nodiscard]] PlanOptions plan_options() const {
    PlanOptions options = plan_;
    options.request_seconds = costs_.request_seconds;
    options.byte_seconds = costs_.byte_seconds;
    return options;
  }

  ReadPlan plan_to_read(std::span<const int64_t> ids) {
    if (!learns_) return plan_requests(spans_, ids, plan_options());
    CostLearner& learner = engine().learner;
    PlanOptions options = plan_options();
    options.trial = learner.trial();
    ReadPlan plan = plan_requests(spans_, ids, options);
    learner.set_trial(plan.trial_left);
    return plan;
  }

  void set_costs(const RowReaderOptions& options) {
    ReadCosts costs;
    if (options.request_seconds < 0 || options.byte_seconds < 0)
      costs = measure_read_costs(engine().queue, spans_, plan_.row_bytes, files_, kMostBytes);
    costs_.request_seconds =
        options.request_seconds < 0 ? costs.request_seconds : options.request_seconds;
    costs_.byte_seconds = options.byte_seconds < 0 ? costs.byte_seconds : options.byte_seconds;
    learns_ = options.request_seconds < 0 && options.byte_seconds < 0 && costs.problem.empty();
    costs_problem_ = std::move(costs.problem);
  }

  [[nodiscard]] RowReadError failure_of(const ReadBatch& batch) const;

  std::vector<RowSpan> spans_;
  ReadFiles files_;
  Method method_;
  PlanOptions plan_;  // but for the costs
  CurrentCosts costs_;
  bool learns_ = false;
  WorkerOptions workers_;
  int64_t memory_bytes_ = 0;
  std::string how_, costs_problem_;
  PerProcess<Engine> engine_;  // last: its threads use the others
};

class Reader::Pending final : public PendingRows {
 public:
  Pending(std::shared_ptr<Reader> reader, ReadPlan plan, void* out)
      : reader_(std::move(reader)), process_(::getpid()) {
    batch_.plan = std::move(plan);
    batch_.out = static_cast<std::byte*>(out);
    batch_.row_bytes = reader_->plan_.row_bytes;
    queue_ = &reader_->engine().queue;
    queue_->push(batch_);
  }
  ~Pending() override {
    if (process_ == ::getpid()) queue_->wait(batch_, true);
  }

  ReadCounts complete() override {
    if (process_ != ::getpid())
      throw_invalid("rows that were asked for before a fork are read in the parent alone");
    queue_->wait(batch_, false);
    if (batch_.failed.load()) throw reader_->failure_of(batch_);
    return batch_.plan.counts;
  }

 private:
  std::shared_ptr<Reader> reader_;
  pid_t process_;
  ReadBatch batch_;
  ReadQueue* queue_ = nullptr;
};

std::unique_ptr<PendingRows> Reader::submit(std::span<const int64_t> ids, void* out) {
  return std::make_unique<Pending>(shared_from_this(), plan_to_read(ids), out);
}

// Names the row that the first byte which is not there belongs to, or the first row behind it.
RowReadError Reader::failure_of(const ReadBatch& batch) const {
  const ReadFailure& failure = batch.failure;
  const ReadRequest& request = batch.plan.requests[failure.request];
  const RowSpan& span = spans_[request.span];
  size_t copy = request.first_copy;
  while (copy + 1 < request.end_copy &&
         batch.plan.copies[copy].at + plan_.row_bytes <= failure.bytes)
    ++copy;
  const int64_t byte = request.offset + batch.plan.copies[copy].at;
  const int64_t row = span.first_row + (byte - span.offset) / plan_.row_bytes;
  if (failure.error != 0)
    return {error_of(failure.error, concat("read row ", row, " at byte ", byte, " of"), span.path),
            row};
  const int64_t end = size_now(files_.files[request.span].get(), span.path);
  return {Error(ErrorCode::kCorrupt,
                concat(span.path, ": the file ends at byte ", end, ", row ", row, " at byte ", byte,
                       " needs ", plan_.row_bytes, " bytes: it was cut short")),
          row};
}

}  // namespace

ReadCounts& ReadCounts::operator+=(const ReadCounts& other) {
  rows += other.rows;
  requests += other.requests;
  bytes += other.bytes;
  return *this;
}

std::shared_ptr<RowReader> RowReader::open(std::vector<RowSpan> spans,
                                           int64_t row_bytes,
                                           const RowReaderOptions& options) {
  check_options(spans, row_bytes, options);
  return std::make_shared<Reader>(std::move(spans), row_bytes, options);
}

}  // namespace ramet
