#include "pipeline.h"

#include <algorithm>
#include <span>
#include <utility>

namespace ramet {

namespace {

constexpr int64_t kReadsAhead = 4;  // batches: a disk has enough to do, and a loop may stutter

bool is_ordered(const LoaderParts& parts) {
  return parts.reads_ahead || (parts.caches != nullptr && parts.caches->has_any());
}

// The most that a cache may look ahead, wherever this rank reads its tables.
int asked_window(const LoaderOptions& options) {
  const HostOptions& host = options.host;
  return host.cache_rows > 0 && host.cache_by == CacheBy::kLookAhead ? host.look_ahead : 0;
}

// Those of a group of ranks work on one batch together.
ReadContext context_of(const LoaderParts& parts, GroupWork group_work) {
  const bool is_together = group_work == GroupWork::kSample;
  return {.pool = parts.pool, .threads = is_together ? std::max(parts.options.threads, 1) : 1};
}

}  // namespace

AheadLimits limits_of(const LoaderParts& parts, GroupWork group_work) {
  const auto& places = parts.options.host.tables;
  const bool is_asked = std::find(places.begin(), places.end(), Location::kDisk) != places.end();
  const bool reads = group_work == GroupWork::kNone ? parts.reads_ahead : is_asked;
  const bool pulls = group_work == GroupWork::kPull;
  const int window = parts.caches == nullptr ? 0 : parts.caches->window();
  return {.reading = reads ? kReadsAhead : 0,
          .known = group_work == GroupWork::kNone ? window : asked_window(parts.options),
          .to_pull = pulls ? parts.pulled_caches->window() : 0};
}

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
      pulls_(group_work == GroupWork::kPull ? std::make_unique<PulledReads>(parts_) : nullptr),
      next_to_announce_pull_(steps_.first),
      scaler_(parts_->max_threads, parts_->stats.get().threads),
      ring_(static_cast<size_t>(
          std::clamp<int64_t>(num_steps_, 1, parts_->max_prefetch + limits_.ahead()))),
      next_task_(steps_.first),
      next_to_sample_(steps_.first),
      next_to_deliver_(steps_.first),
      next_to_announce_(steps_.first),
      next_to_begin_(steps_.first),
      next_to_fetch_(steps_.first),
      order_end_(num_steps_) {}

void Pipeline::run_worker(int index) {
  std::unique_ptr<BatchSource> source;
  const CoreWait core_wait;
  std::unique_lock lock(mutex_);
  while (const std::optional<Work> work = next_work(lock, index)) {
    lock.unlock();
    try {
      work_on(*work, source, core_wait);
    } catch (...) {
      work->slot->error = std::current_exception();
    }
    lock.lock();
    end_work(*work);
  }
}

void Pipeline::work_on(const Work& work,
                       std::unique_ptr<BatchSource>& source,
                       const CoreWait& core_wait) {
  Slot& slot = *work.slot;
  BatchTimings& timings = slot.batch.timings;
  if (!source) source = make_source_({});
  if (work.task == Task::kSample) {
    const AddSeconds timer(timings.sample_seconds);
    const AddCoreWait waits(core_wait, timings.core_wait_seconds);
    return sample(*source, slot.batch);
  }
  {
    const AddSeconds timer(timings.gather_seconds);
    const AddCoreWait waits(core_wait, timings.core_wait_seconds);
    if (work.task == Task::kAnnounce) {
      reads_->tell(slot.batch);
      reads_->announce(slot.batch);
    }
    if (work.task == Task::kBegin) slot.reads = reads_->begin(context_, slot.batch);
    if (work.task == Task::kFetch) source->fetch(slot.batch, slot.reads.get(), stop_);
  }
  if (work.task == Task::kFetch) timings.gather_seconds -= timings.read_seconds;
}

void Pipeline::sample(BatchSource& source, Batch& batch) {
  const std::vector<int64_t> items = steps_.plan->items(batch.epoch, batch.step);
  batch.input_id = copy(borrow(std::span(items)), *parts_->pool);
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

// What was sampled comes first, also once the stream is stopped: only fetch() releases a batch from
// its CUDA stream. Where rows are read ahead it is worth more to have some on their way.
std::optional<Pipeline::Work> Pipeline::find_work(int index) {
  if (!sampled_.empty()) {
    Slot* const oldest = sampled_.front();
    sampled_.pop_front();
    return Work{Task::kFetch, oldest};
  }
  if (stop_.load()) return std::nullopt;
  if (const std::optional<Work> work = find_in_order()) return work;
  const bool is_alone = group_work_ == GroupWork::kNone;
  const bool may_sample = index < threads() && (is_alone ? has_room() : !begun_.empty());
  const bool may_fetch = next_to_fetch_ < std::min(next_to_begin_, next_to_deliver_ + ahead());
  if (may_fetch && (!may_sample || next_to_begin_ - next_to_fetch_ >= limits_.reading))
    return Work{Task::kFetch, &slot_of(next_to_fetch_++)};
  if (!may_sample) return std::nullopt;
  if (is_alone) return Work{Task::kSample, &begin_step()};
  Slot* const oldest = begun_.front();
  begun_.pop_front();
  return Work{Task::kSample, oldest};
}

// Of what one worker at a time does, in the order of steps.
std::optional<Pipeline::Work> Pipeline::find_in_order() {
  if (reads_ == nullptr || is_in_order_) return std::nullopt;
  const int64_t window = reads_->window();
  const bool is_known =
      next_to_begin_ < order_end_ &&
      (next_to_announce_ > next_to_begin_ + window || next_to_announce_ == order_end_);
  std::optional<Work> work;
  if (is_known && next_to_begin_ < next_to_deliver_ + ahead() + limits_.reading)
    work = Work{Task::kBegin, &slot_of(next_to_begin_)};
  else if (!is_known && next_to_announce_ < std::min(next_to_sample_, order_end_) &&
           slot_of(next_to_announce_).is_sampled)
    work = Work{Task::kAnnounce, &slot_of(next_to_announce_)};
  is_in_order_ = work.has_value();
  return work;
}

// Whether there is nothing to wait for.
bool Pipeline::is_over() const {
  if (stop_.load()) return true;
  if (group_work_ != GroupWork::kNone) return false;
  return reads_ == nullptr ? next_to_sample_ == num_steps_ : next_to_fetch_ >= order_end_;
}

Pipeline::Slot& Pipeline::begin_step() {
  const int64_t step = next_to_sample_++;
  Batch& batch = slot_of(step).batch;
  batch.epoch = steps_.epoch;
  batch.step = step;
  batch.global_num_seeds = steps_.plan->global_size(step);
  return slot_of(step);
}

void Pipeline::end_work(const Work& work) {
  if (work.task == Task::kAnnounce || work.task == Task::kBegin) return end_in_order(work);
  if (work.task == Task::kSample && group_work_ == GroupWork::kPull) return put_drawn(*work.slot);
  put(*work.slot);
}

// Where a step fails, the ones before it are still made, by what is known.
void Pipeline::end_in_order(const Work& work) {
  is_in_order_ = false;
  int64_t& next = work.task == Task::kAnnounce ? next_to_announce_ : next_to_begin_;
  if (work.slot->error == nullptr)
    ++next;
  else
    put(*work.slot);
  room_.notify_all();
}

// A worker has sampled `slot`. Where its task has failed before, nobody pulls its rows.
void Pipeline::put_drawn(Slot& slot) {
  slot.is_drawn = true;
  batch_drawn_.notify_all();
  if (slot.has_task_ended) put(slot);
}

// A stage of `slot` is over.
void Pipeline::put(Slot& slot) {
  if (slot.error == nullptr) slot.error = std::exchange(slot.task_error, nullptr);
  if (slot.error == nullptr && !slot.is_sampled) {
    slot.is_sampled = true;
    if (reads_ == nullptr)
      sampled_.push_back(&slot);
    else
      room_.notify_all();  // it may be announced
    return;
  }
  slot.is_ready = true;
  slot.reads.reset();
  if (slot.error != nullptr) order_end_ = std::min(order_end_, slot.batch.step);
  const BatchTimings& timings = slot.batch.timings;
  if (slot.error == nullptr)
    scaler_.made(timings.sample_seconds + timings.gather_seconds - timings.core_wait_seconds);
  batch_ready_.notify_all();
  room_.notify_all();  // other workers may be needed now
}

Pipeline::Slot* Pipeline::next_task() {
  const std::lock_guard lock(mutex_);
  if (stop_.load() || has_failed_) return nullptr;
  while (has_room()) {
    Slot& slot = begin_step();
    if (group_work_ != GroupWork::kPull) continue;
    begun_.push_back(&slot);
    room_.notify_all();  // a worker may sample
  }
  // A step's rows are pulled when all are known that a cache looks ahead.
  const bool all_known = next_to_sample_ == num_steps_;
  const int64_t known = all_known ? num_steps_ : next_to_sample_ - limits_.to_pull;
  const int64_t room = next_to_deliver_ + ahead() + limits_.ahead() - limits_.to_pull;
  return next_task_ < std::min(known, room) ? &slot_of(next_task_++) : nullptr;
}

void Pipeline::begin_task() {
  const std::lock_guard lock(mutex_);
  ++tasks_;
}

// Time in an exchange is the other ranks', too, and does not count.
void Pipeline::run_task(Slot& slot, const Exchange& exchange) {
  const bool pulls = group_work_ == GroupWork::kPull;
  if (pulls && !announce_pulls(slot)) return pulls_->pull(nullptr, exchange);
  BatchTimings& timings = slot.batch.timings;
  double& seconds = pulls ? timings.gather_seconds : timings.sample_seconds;
  const Exchange untimed = [&](const Message& message) {
    const auto start = Clock::now();
    Message received = exchange(message);
    seconds -= seconds_since(start);
    return received;
  };
  const AddSeconds timer(seconds);
  if (pulls)
    pulls_->pull(&slot.batch, untimed);
  else
    sample(*make_source_(untimed), slot.batch);
}

// Announces the steps that are to be known before the rows of `slot` are pulled, which workers
// sample. Where a step fails, the ones before it are still pulled, by what is known. False once the
// stream is stopped.
bool Pipeline::announce_pulls(const Slot& slot) {
  const int64_t step = slot.batch.step, last = std::min(step + pulls_->window(), num_steps_ - 1);
  while (next_to_announce_pull_ <= last && pull_error_ == nullptr) {
    try {
      if (!wait_until_drawn(slot_of(next_to_announce_pull_))) return false;
      pulls_->announce(slot_of(next_to_announce_pull_).batch);
      ++next_to_announce_pull_;
    } catch (...) {
      pull_error_ = std::current_exception();
    }
  }
  if (next_to_announce_pull_ <= step) std::rethrow_exception(pull_error_);
  return true;
}

bool Pipeline::wait_until_drawn(const Slot& slot) {
  std::unique_lock lock(mutex_);
  batch_drawn_.wait(lock, [&] { return stop_.load() || slot.is_drawn; });
  if (slot.is_drawn && slot.error != nullptr) std::rethrow_exception(slot.error);
  return !stop_.load();
}

void Pipeline::end_task(Slot* slot, std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  --tasks_;
  task_ended_.notify_all();
  if (has_left_) return release();
  if (slot == nullptr) return;
  slot->task_error = std::move(error);
  slot->has_task_ended = true;
  if (group_work_ == GroupWork::kPull && !slot->is_drawn) return;  // it is a worker's
  put(*slot);
  room_.notify_all();  // a worker may fetch
}

std::optional<Pipeline::Slot> Pipeline::take(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  begin_wait();
  // Looked up anew at every wake-up: another thread may have taken the batch we waited for.
  const auto next = [&]() -> Slot& { return slot_of(next_to_deliver_); };
  const bool is_woken =
      batch_ready_.wait_for(lock, timeout, [&] { return is_finished() || next().is_ready; });
  if (!is_woken || is_finished()) return std::nullopt;
  Slot taken = std::exchange(next(), {});
  ++next_to_deliver_;
  const bool is_last = next_to_deliver_ == num_steps_ && taken.error == nullptr;
  if (is_last && reads_ != nullptr) reads_->finish();
  if (is_last && pulls_ != nullptr) pulls_->finish();
  room_.notify_all();
  batch_ready_.notify_all();
  has_failed_ = taken.error != nullptr;
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
  batch_drawn_.notify_all();
  batch_ready_.notify_all();
}

void Pipeline::leave() {
  const std::lock_guard lock(mutex_);
  has_left_ = true;
  for (Slot& slot : ring_)
    slot.reads.reset();
  reads_.reset();
  release();
}

bool Pipeline::wait_for_tasks(std::chrono::milliseconds timeout) {
  std::unique_lock lock(mutex_);
  return task_ended_.wait_for(lock, timeout, [&] { return tasks_ == 0; });
}

// How many workers may sample now.
int Pipeline::threads() const {
  if (parts_->options.threads > 0) return parts_->options.threads;
  return group_work_ == GroupWork::kSample ? 1 : scaler_.threads();
}

// How many batches may wait or be made now.
int64_t Pipeline::ahead() const {
  const int64_t most = parts_->max_prefetch;
  const bool is_automatic = parts_->options.threads == 0 && parts_->options.prefetch == 0;
  return is_automatic && group_work_ == GroupWork::kNone ? std::min<int64_t>(most, threads() + 1)
                                                         : most;
}

bool Pipeline::has_room() const {
  return next_to_sample_ < std::min(num_steps_, next_to_deliver_ + ahead() + limits_.ahead());
}

bool Pipeline::is_finished() const {
  return has_failed_ || stop_.load() || next_to_deliver_ >= num_steps_;
}

Pipeline::Slot& Pipeline::slot_of(int64_t step) {
  return ring_[static_cast<size_t>(step) % ring_.size()];
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
