#include "pipeline.h"

#include <algorithm>
#include <span>
#include <utility>

#include "pulled_rows.h"

namespace ramet {

Pipeline::Pipeline(std::shared_ptr<const LoaderParts> parts,
                   Steps steps,
                   MakeSource make_source,
                   GroupWork group_work)
    : parts_(std::move(parts)),
      steps_(std::move(steps)),
      num_steps_(steps_.plan->num_steps()),
      make_source_(std::move(make_source)),
      group_work_(group_work),
      scaler_(parts_->max_threads, parts_->stats.get().threads),
      ring_(static_cast<size_t>(std::clamp<int64_t>(num_steps_, 1, parts_->max_prefetch))),
      next_to_sample_(steps_.first),
      next_to_deliver_(steps_.first) {}

void Pipeline::run_worker(int index) {
  std::unique_ptr<BatchSource> source;
  const CoreWait core_wait;
  std::unique_lock lock(mutex_);
  while (Slot* slot = next_work(lock, index)) {
    lock.unlock();
    BatchTimings& timings = slot->batch.timings;
    try {
      if (!source) source = make_source_({});
      const AddSeconds timer(slot->is_sampled ? timings.gather_seconds : timings.sample_seconds);
      const AddCoreWait waits(core_wait, timings.core_wait_seconds);
      if (slot->is_sampled)
        source->fetch(slot->batch, stop_);
      else
        sample(*source, slot->batch);
    } catch (...) {
      slot->error = std::current_exception();
    }
    lock.lock();
    if (group_work_ == GroupWork::kPull && !slot->is_sampled)
      put_drawn(*slot);
    else
      put(*slot);
  }
}

void Pipeline::sample(BatchSource& source, Batch& batch) {
  const std::vector<int64_t> items = steps_.plan->items(batch.epoch, batch.step);
  batch.input_id = copy(borrow(std::span(items)), *parts_->pool);
  source.sample(batch, stop_);
}

// Waits until there is work for this worker; nullptr when there is nothing left to do. A worker
// that is stopped fetches what it has sampled, too: only fetch() releases the batch from its CUDA
// stream.
Pipeline::Slot* Pipeline::next_work(std::unique_lock<std::mutex>& lock, int index) {
  const bool is_alone = group_work_ == GroupWork::kNone;
  const auto may_sample = [&] {
    return index < threads() && (is_alone ? has_room() : !begun_.empty());
  };
  const auto is_over = [&] { return stop_.load() || (is_alone && next_to_sample_ == num_steps_); };
  room_.wait(lock, [&] { return !sampled_.empty() || is_over() || may_sample(); });
  if (sampled_.empty() && is_over()) return nullptr;
  if (sampled_.empty() && is_alone) return &begin_step();
  std::deque<Slot*>& queue = sampled_.empty() ? begun_ : sampled_;
  Slot* oldest = queue.front();
  queue.pop_front();
  return oldest;
}

Pipeline::Slot& Pipeline::begin_step() {
  const int64_t step = next_to_sample_++;
  Batch& batch = slot_of(step).batch;
  batch.epoch = steps_.epoch;
  batch.step = step;
  batch.global_num_seeds = steps_.plan->global_size(step);
  return slot_of(step);
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
    sampled_.push_back(&slot);
    return;
  }
  slot.is_ready = true;
  const BatchTimings& timings = slot.batch.timings;
  if (slot.error == nullptr)
    scaler_.made(timings.sample_seconds + timings.gather_seconds - timings.core_wait_seconds);
  batch_ready_.notify_all();
  room_.notify_all();  // other workers may be needed now
}

Pipeline::Slot* Pipeline::reserve() {
  const std::lock_guard lock(mutex_);
  if (stop_.load() || has_failed_ || !has_room()) return nullptr;
  Slot* slot = &begin_step();
  if (group_work_ == GroupWork::kPull) {
    begun_.push_back(slot);
    room_.notify_all();  // a worker may sample
  }
  return slot;
}

void Pipeline::begin_task() {
  const std::lock_guard lock(mutex_);
  ++tasks_;
}

// Time in an exchange is the other ranks', too, and does not count.
void Pipeline::run_task(Slot& slot, const Exchange& exchange) {
  const bool pulls = group_work_ == GroupWork::kPull;
  if (pulls && !wait_until_drawn(slot)) return pull_rows(*parts_, nullptr, exchange);
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
    pull_rows(*parts_, &slot.batch, untimed);
  else
    sample(*make_source_(untimed), slot.batch);
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
  const auto most = static_cast<int64_t>(ring_.size());
  const bool is_automatic = parts_->options.threads == 0 && parts_->options.prefetch == 0;
  return is_automatic && group_work_ == GroupWork::kNone ? std::min<int64_t>(most, threads() + 1)
                                                         : most;
}

bool Pipeline::has_room() const {
  return next_to_sample_ < num_steps_ && next_to_sample_ < next_to_deliver_ + ahead();
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
  waiting_since_ = Clock::now();
  if (!handed_out_) return;
  const double used = seconds_between(handed_out_->at, *waiting_since_);
  const double core_wait = std::max(0.0, caller_wait_->seconds() - handed_out_->core_wait);
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
