#include "pipeline.h"

#include <algorithm>
#include <span>
#include <utility>

#include "loader/loader_parts.h"

namespace ramet {

namespace {

bool is_ordered(const LoaderParts& parts) {
  const HostSide& host = parts.host;
  return host.reads_ahead || host.caches->has_any();
}

// Those of a group of ranks that sample together work on one batch together.
ReadContext context_of(const LoaderParts& parts, GroupWork group_work) {
  const bool is_together = group_work == GroupWork::kSample;
  return {.pool = parts.pool, .threads = is_together ? std::max(parts.options.threads, 1) : 1};
}

bool is_of_workers(const StageState& stage) {
  return stage.runner == Runner::kWorkers || stage.runner == Runner::kOneWorker;
}

}  // namespace

Pipeline::Pipeline(std::shared_ptr<const LoaderParts> parts,
                   Steps steps,
                   MakeSource make_source,
                   GroupWork group_work)
    : parts_(std::move(parts)),
      steps_(std::move(steps)),
      num_steps_(steps_.plan->num_steps()),
      make_source_(std::move(make_source)),
      group_work_(group_work),
      limits_(limits_of(*parts_, group_work)),
      context_(context_of(*parts_, group_work)),
      reads_(is_ordered(*parts_) ? std::make_unique<TableReads>(parts_) : nullptr),
      scaler_(parts_->max_threads, parts_->stats.get().threads),
      ring_(static_cast<size_t>(
          std::clamp<int64_t>(num_steps_, 1, parts_->max_prefetch + limits_.sampled()))),
      stages_(stages_of(group_work, reads_ != nullptr, limits_, steps_.first)),
      end_(num_steps_) {}

void Pipeline::run_worker(int index) {
  std::unique_ptr<BatchSource> source;
  const CoreWait core_wait;
  std::unique_lock lock(mutex_);
  while (const std::optional<Work> work = next_work(lock, index)) {
    lock.unlock();
    std::exception_ptr error;
    try {
      work_on(*work, source, core_wait);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    slot_of(work->step).is_busy = false;
    if (stages_[work->stage].runner == Runner::kOneWorker) is_in_order_ = false;
    end_stage(work->step, error);
  }
}

void Pipeline::work_on(const Work& work,
                       std::unique_ptr<BatchSource>& source,
                       const CoreWait& core_wait) {
  Slot& slot = slot_of(work.step);
  BatchTimings& timings = slot.batch.timings;
  if (!source) source = make_source_({});
  bool fetches = work.stage == kFetch;
  if (work.stage == kSample) {
    const AddSeconds timer(timings.sample_seconds);
    const AddCoreWait waits(core_wait, timings.core_wait_seconds);
    sample(*source, work.step);
    fetches = stages_[kFetch].runner == Runner::kNobody;
  }
  {
    const AddSeconds timer(timings.gather_seconds);
    const AddCoreWait waits(core_wait, timings.core_wait_seconds);
    if (work.stage == kAnnounce) {
      reads_->hint(slot.batch);
      reads_->announce(slot.batch);
    }
    if (work.stage == kBegin) slot.reads = reads_->begin(context_, slot.batch);
    if (fetches) source->fetch(slot.batch, slot.reads.get(), stop_);
  }
  if (!fetches) return;
  timings.gather_seconds -= timings.read_seconds;
  slot.reads.reset();
}

void Pipeline::sample(BatchSource& source, int64_t step) {
  Batch& batch = slot_of(step).batch;
  begin_batch(*parts_->seeds, *steps_.plan, steps_.epoch, step, *parts_->pool, batch);
  source.sample(batch, stop_);
}

// Waits until there is work for this worker; nothing when there is none left to do.
std::optional<Pipeline::Work> Pipeline::next_work(std::unique_lock<std::mutex>& lock, int index) {
  std::optional<Work> work;
  room_.wait(lock, [&] {
    work = find_work(index);
    return work || is_over();
  });
  return work;
}

// First what one worker at a time does, for which others wait. Where rows are read ahead it is
// worth more to have some on their way than to fetch.
std::optional<Pipeline::Work> Pipeline::find_work(int index) {
  if (stop_.load()) return std::nullopt;
  const bool samples = index < threads() && may_take(kSample);
  const bool is_deep = stages_[kBegin].next - stages_[kFetch].next >= limits_.reading;
  if (may_take(kBegin)) return take_step(kBegin);
  if (may_take(kAnnounce)) return take_step(kAnnounce);
  if (may_take(kFetch) && (is_deep || !samples)) return take_step(kFetch);
  return samples ? std::optional(take_step(kSample)) : std::nullopt;
}

bool Pipeline::may_take(Stage stage) {
  const StageState& state = stages_[stage];
  if (!is_of_workers(state) || (state.runner == Runner::kOneWorker && is_in_order_)) return false;
  if (state.next >= std::min(end_, limit_of(state))) return false;
  if (slot_of(state.next).stage != stage) return false;
  // A cache has a batch begun once it knows those of its window, and no others.
  const int64_t announced = stages_[kAnnounce].next, begun = stages_[kBegin].next;
  if (stage == kAnnounce) return announced <= begun + reads_->window();
  if (stage == kBegin) return announced > std::min(begun + reads_->window(), end_ - 1);
  return true;
}

Pipeline::Work Pipeline::take_step(Stage stage) {
  const int64_t step = stages_[stage].next++;
  slot_of(step).is_busy = true;
  if (stages_[stage].runner == Runner::kOneWorker) is_in_order_ = true;
  return {stage, step};
}

// Whether there is nothing to wait for.
bool Pipeline::is_over() const {
  return stop_.load() || std::none_of(stages_.begin(), stages_.end(), [&](const auto& stage) {
           return is_of_workers(stage) && stage.next < end_;
         });
}

void Pipeline::end_stage(int64_t step, const std::exception_ptr& error) {
  Slot& slot = slot_of(step);
  if (slot.error == nullptr) slot.error = error;
  if (slot.error != nullptr) {
    slot.reads.reset();  // later batches that wait for its turn in a cache fail, too
    end_ = std::min(end_, step);
  } else {
    do
      ++slot.stage;
    while (stages_[slot.stage].runner == Runner::kNobody);
    const BatchTimings& timings = slot.batch.timings;
    if (slot.stage == kDeliver)
      scaler_.made(timings.sample_seconds + timings.gather_seconds - timings.core_wait_seconds);
  }
  room_.notify_all();
  changed_.notify_all();
}

std::optional<int64_t> Pipeline::next_task() {
  const std::lock_guard lock(mutex_);
  StageState& stage = stages_[group_work_ == GroupWork::kPull ? kPull : kSample];
  if (stop_.load() || has_failed_) return std::nullopt;
  if (stage.next >= std::min(num_steps_, limit_of(stage))) return std::nullopt;
  return stage.next++;
}

void Pipeline::begin_task() {
  const std::lock_guard lock(mutex_);
  ++tasks_;
}

// Time in an exchange is the other ranks', too, and does not count.
void Pipeline::run_task(int64_t step, const Exchange& exchange) {
  const bool pulls = group_work_ == GroupWork::kPull;
  BatchReads* const reads = pulls ? reads_to_pull(step) : nullptr;
  if (pulls && reads == nullptr) return pull_nothing(*parts_, exchange);
  BatchTimings& timings = slot_of(step).batch.timings;
  double& seconds = pulls ? timings.gather_seconds : timings.sample_seconds;
  const Exchange untimed = [&](const Message& message) {
    const auto start = Clock::now();
    Message received = exchange(message);
    seconds -= seconds_since(start);
    return received;
  };
  const AddSeconds timer(seconds);
  if (pulls)
    reads->pull(untimed);
  else
    sample(*make_source_(untimed), step);
}

// Waits for the workers. nullptr where nobody needs the rows: the stream is stopped, or an earlier
// step has failed.
BatchReads* Pipeline::reads_to_pull(int64_t step) {
  std::unique_lock lock(mutex_);
  const Slot& slot = slot_of(step);
  changed_.wait(lock, [&] { return stop_.load() || step >= end_ || slot.stage == kPull; });
  if (slot.error != nullptr) std::rethrow_exception(slot.error);
  if (slot.stage != kPull) return nullptr;
  pulling_ = slot.reads.get();
  return slot.reads.get();
}

void Pipeline::end_task(std::optional<int64_t> step, const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  --tasks_;
  changed_.notify_all();
  if (step) {
    Slot& slot = slot_of(*step);
    if (slot.reads.get() == pulling_) pulling_ = nullptr;
    slot.has_task_ended = true;
    slot.is_told = error != nullptr;
    if (error != nullptr || stages_[slot.stage].runner == Runner::kGroup) end_stage(*step, error);
  }
  if (has_left_) give_back();
}

std::optional<Pipeline::Slot> Pipeline::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  begin_wait();
  // Looked up anew at every wake-up: another thread may have taken the batch we waited for.
  int64_t& step = stages_[kDeliver].next;
  const bool is_woken =
      changed_.wait_for(lock, timeout, [&] { return is_finished() || is_ready(slot_of(step)); });
  if (!is_woken || is_finished()) return std::nullopt;
  Slot taken = std::exchange(slot_of(step), {});
  taken.reads.reset();
  ++step;
  has_failed_ = taken.error != nullptr;
  if (step == num_steps_ && !has_failed_ && reads_ != nullptr) reads_->finish();
  room_.notify_all();
  changed_.notify_all();
  if (!has_failed_) end_wait(taken.batch);
  return taken;
}

bool Pipeline::is_done() {
  const std::lock_guard lock(mutex_);
  return is_finished();
}

void Pipeline::stop() {
  const std::lock_guard lock(mutex_);
  stop_.store(true);
  room_.notify_all();
  changed_.notify_all();
}

void Pipeline::leave() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  give_back();
}

// Of a stream that was left: what no task uses any more.
void Pipeline::give_back() {
  for (Slot& slot : ring_)
    if (slot.reads.get() != pulling_) slot.reads.reset();
  if (pulling_ == nullptr) reads_.reset();
  if (tasks_ == 0) ring_.clear();
}

bool Pipeline::wait_for_tasks(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return tasks_ == 0; });
}

// How many workers may sample now.
int Pipeline::threads() const {
  if (parts_->options.threads > 0) return parts_->options.threads;
  return group_work_ == GroupWork::kSample ? 1 : scaler_.threads();
}

// The step that a stage must not take yet: so many batches may wait or be made now.
int64_t Pipeline::limit_of(const StageState& stage) const {
  const int most = parts_->max_prefetch;
  const bool is_automatic = parts_->options.threads == 0 && parts_->options.prefetch == 0;
  const bool follows = is_automatic && group_work_ == GroupWork::kNone;
  const int made = follows ? std::min(most, threads() + 1) : most;
  return stages_[kDeliver].next + made + stage.ahead;
}

bool Pipeline::is_finished() const {
  return has_failed_ || stop_.load() || stages_[kDeliver].next >= num_steps_;
}

bool Pipeline::is_ready(const Slot& slot) const {
  if (slot.error == nullptr) return slot.stage == kDeliver;
  return !slot.is_busy && (group_work_ == GroupWork::kNone || slot.has_task_ended);
}

// The caller wants a batch; calls that timed out are part of one wait.
void Pipeline::begin_wait() {
  if (waiting_since_) return;
  // Read before the clock: the wait is then a part of the time used.
  const double waited = caller_wait_ ? caller_wait_->seconds() : 0;
  waiting_since_ = Clock::now();
  if (!handed_out_) return;
  const double used = seconds_between(handed_out_->at, *waiting_since_);
  const double core_wait = std::max(0.0, waited - handed_out_->core_wait);
  scaler_.used(used - core_wait);
  parts_->stats.add_use(used, core_wait);
  room_.notify_all();  // other workers may be needed now
}

void Pipeline::end_wait(Batch& batch) {
  // Where several threads wait at once, the first batch ends the wait of all.
  batch.timings.wait_seconds = seconds_since(waiting_since_.value_or(Clock::now()));
  parts_->stats.add_batch(batch, threads(), !handed_out_);
  waiting_since_.reset();
  if (caller_ != std::this_thread::get_id()) {
    caller_ = std::this_thread::get_id();
    caller_wait_.emplace();
  }
  handed_out_ = {Clock::now(), caller_wait_->seconds()};
}

}  // namespace ramet
