// Threads that make the batches of one epoch, and the ring that puts them in order. A worker takes
// the next step as soon as there is room ahead of the consumer, makes the batch without any lock,
// and puts it into the slot of its step. Where the number of threads is automatic, the first few
// workers do all the work, as many as the pace asks for: their scratch memory is warm. What a batch
// holds depends on its step alone, so neither the number of workers nor their timing can be seen
// in the result.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "batch_maker.h"
#include "clock.h"
#include "pace.h"
#include "ramet/error.h"
#include "ramet/loader.h"
#include "tally.h"

namespace ramet {
namespace {

// Everything the workers share. Kept apart from the stream, so that a forked child, where the
// workers do not exist and the mutex may be locked for ever, can leave it untouched.
struct Shared {
  Shared(NeighborLoader its_loader, int64_t its_epoch, int64_t first_step)
      : loader(std::move(its_loader)),
        epoch(its_epoch),
        num_steps(loader.num_steps()),
        pace(loader.max_threads(), loader.summary().threads),
        ring(static_cast<size_t>(
            std::max<int64_t>(1, std::min<int64_t>(loader.max_prefetch(), num_steps)))),
        next_to_make(first_step),
        next_to_deliver(first_step) {}

  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr error;
    [[nodiscard]] bool ready() const { return batch.has_value() || error != nullptr; }
  };

  Slot& slot(int64_t step) { return ring[static_cast<size_t>(step) % ring.size()]; }

  void run_worker(int index) {
    std::unique_ptr<BatchMaker> maker;
    for (int64_t step; take_step(index, step);) {
      Slot made;
      try {
        if (!maker) maker = make_batch_maker(loader, epoch);
        made.batch = maker->make(step, stop);
      } catch (...) {
        made.error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      if (made.batch) {
        const BatchTimings& timings = made.batch->timings;
        pace.made(timings.sample_seconds + timings.gather_seconds);
      }
      slot(step) = std::move(made);
      batch_ready.notify_all();
      room.notify_all();  // the pace may have changed
    }
  }

  // Waits until this worker is needed; false when there is nothing left to make.
  bool take_step(int index, int64_t& step) {
    std::unique_lock lock(mutex);
    room.wait(lock, [&] {
      return stop.load() || next_to_make == num_steps ||
             (index < threads() && next_to_make < next_to_deliver + ahead());
    });
    if (stop.load() || next_to_make == num_steps) return false;
    step = next_to_make++;
    return true;
  }

  // How many workers may work now.
  [[nodiscard]] int threads() const {
    return loader.options().threads > 0 ? loader.options().threads : pace.threads();
  }

  // How many batches may wait or be made now.
  [[nodiscard]] int64_t ahead() const {
    const auto most = static_cast<int64_t>(ring.size());
    const bool automatic = loader.options().threads == 0 && loader.options().prefetch == 0;
    return automatic ? std::min<int64_t>(most, threads() + 1) : most;
  }

  void request_stop() {
    const std::lock_guard lock(mutex);
    stop.store(true);
    room.notify_all();
  }

  const NeighborLoader loader;
  const int64_t epoch;
  const int64_t num_steps;
  Pace pace;
  std::vector<Slot> ring;
  int64_t next_to_make, next_to_deliver;
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::condition_variable room, batch_ready;
  std::vector<std::thread> workers;
};

class ThreadedStream final : public EpochStream {
 public:
  ThreadedStream(const NeighborLoader& loader, int64_t epoch, int64_t first_step)
      : shared_(std::make_unique<Shared>(loader, epoch, first_step)) {
    const auto threads =
        static_cast<int>(std::min<int64_t>(loader.max_threads(), shared_->num_steps - first_step));
    shared_->workers.reserve(static_cast<size_t>(threads));
    try {
      for (int i = 0; i < threads; ++i)
        shared_->workers.emplace_back(&Shared::run_worker, shared_.get(), i);
    } catch (const std::exception& e) {       // no thread, or no memory for one
      if (!shared_->workers.empty()) return;  // fewer threads give the same batches
      const auto* refused = dynamic_cast<const std::system_error*>(&e);
      if (refused == nullptr) throw;
      throw Error(ErrorCode::kIo, std::string("cannot start a thread: ") + e.what(),
                  refused->code().value());
    }
  }

  ~ThreadedStream() override {
    if (getpid() != owner_) {
      shared_.release();  // NOLINT: leaked on purpose, see Shared
      return;
    }
    shared_->request_stop();
    for (std::thread& worker : shared_->workers)
      worker.join();
  }

  std::optional<Batch> next(std::chrono::milliseconds timeout) override {
    require_owner();
    std::unique_lock lock(shared_->mutex);
    begin_wait();
    // Looked up anew at every wake-up: another thread may have taken the batch we waited for.
    const auto slot = [&]() -> Shared::Slot& { return shared_->slot(shared_->next_to_deliver); };
    const bool woken =
        shared_->batch_ready.wait_for(lock, timeout, [&] { return finished() || slot().ready(); });
    if (!woken || finished()) return std::nullopt;
    Shared::Slot taken = std::exchange(slot(), {});
    ++shared_->next_to_deliver;
    shared_->room.notify_all();
    shared_->batch_ready.notify_all();
    if (taken.error) {
      failed_ = true;
      std::rethrow_exception(taken.error);
    }
    end_wait(*taken.batch);
    return std::move(taken.batch);
  }

  bool done() const override {
    require_owner();
    const std::lock_guard lock(shared_->mutex);
    return finished();
  }

 private:
  // The caller wants a batch; calls that timed out are part of one wait.
  void begin_wait() {
    if (waiting_since_) return;
    waiting_since_ = Clock::now();
    if (!handed_out_) return;
    const double used = std::chrono::duration<double>(*waiting_since_ - *handed_out_).count();
    shared_->pace.used(used);
    shared_->loader.tally().add_use(used);
    shared_->room.notify_all();  // the pace may have changed
  }

  void end_wait(Batch& batch) {
    // Where several threads wait at once, the first batch ends the wait of all.
    batch.timings.wait_seconds = seconds_since(waiting_since_.value_or(Clock::now()));
    shared_->loader.tally().add_batch(batch, shared_->threads(), !handed_out_);
    waiting_since_.reset();
    handed_out_ = Clock::now();
  }

  [[nodiscard]] bool finished() const {
    return failed_ || shared_->next_to_deliver >= shared_->num_steps;
  }

  void require_owner() const {
    if (getpid() == owner_) return;
    throw Error(ErrorCode::kInvalidArgument,
                "this iterator was made in process " + std::to_string(owner_) +
                    " and has no threads in the forked process " + std::to_string(getpid()) +
                    "; start a new one there");
  }

  const pid_t owner_ = getpid();
  std::unique_ptr<Shared> shared_;
  bool failed_ = false;
  std::optional<Clock::time_point> waiting_since_, handed_out_;  // guarded by the mutex
};

}  // namespace

std::unique_ptr<EpochStream> NeighborLoader::start(int64_t epoch, int64_t first_step) const {
  if (epoch < 0 || first_step < 0 || first_step > num_steps()) {
    throw Error(ErrorCode::kInvalidArgument, "cannot start at epoch " + std::to_string(epoch) +
                                                 ", step " + std::to_string(first_step) + " of " +
                                                 std::to_string(num_steps()));
  }
  return std::make_unique<ThreadedStream>(*this, epoch, first_step);
}

}  // namespace ramet
