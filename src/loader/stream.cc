// Threads that make the batches of one epoch, and the ring that puts them in order. A worker takes
// the next step as soon as fewer than `prefetch` batches are ahead of the consumer, makes the batch
// without any lock, and puts it into the slot of its step. What a batch holds depends on its step
// alone, so neither the number of workers nor their timing can be seen in the result.
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

#include "ramet/error.h"
#include "ramet/loader.h"

namespace ramet {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// What one worker thread needs to make any batch of the epoch.
class BatchMaker {
 public:
  BatchMaker(const NeighborLoader& loader, int64_t epoch)
      : loader_(loader),
        epoch_(epoch),
        sampler_(loader.graph(), loader.options().sample, loader.pool()) {}

  Batch make(int64_t step, const std::atomic<bool>& stop) {
    Batch batch;
    batch.epoch = epoch_;
    batch.step = step;
    batch.global_num_seeds = loader_.global_num_seeds(step);
    auto start = Clock::now();
    batch.minibatch =
        sampler_.sample(loader_.options().seed_type, loader_.seeds(epoch_, step),
                        static_cast<uint64_t>(epoch_), static_cast<uint64_t>(step), &stop);
    batch.timings.sample_seconds = seconds_since(start);
    start = Clock::now();
    for (const TableRequest& request : loader_.options().tables) {
      if (stop.load()) break;
      batch.tables.push_back(gather(request, batch.minibatch));
    }
    batch.timings.gather_seconds = seconds_since(start);
    return batch;
  }

 private:
  Array gather(const TableRequest& request, const Minibatch& minibatch) const {
    const auto type = static_cast<size_t>(request.node_type);
    const NodeType& node_type = loader_.graph()->node_types()[type];
    const Table table(node_type.tables.at(request.name), request.name);
    std::span<const int64_t> ids = minibatch.n_id[type].as<int64_t>();
    if (request.at_seeds) ids = ids.first(static_cast<size_t>(minibatch.num_seeds));
    std::vector<int64_t> shape = table.rows().shape;
    shape[0] = static_cast<int64_t>(ids.size());
    Array out = loader_.pool()->allocate_array(table.rows().dtype, std::move(shape));
    table.gather(ids, out.data);
    return out;
  }

  const NeighborLoader& loader_;
  int64_t epoch_;
  NeighborSampler sampler_;
};

// Everything the workers share. Kept apart from the stream, so that a forked child, where the
// workers do not exist and the mutex may be locked for ever, can leave it untouched.
struct Shared {
  Shared(NeighborLoader its_loader, int64_t its_epoch, int64_t first_step)
      : loader(std::move(its_loader)),
        epoch(its_epoch),
        num_steps(loader.num_steps()),
        ring(static_cast<size_t>(
            std::max<int64_t>(1, std::min<int64_t>(loader.options().prefetch, num_steps)))),
        next_to_make(first_step),
        next_to_deliver(first_step) {}

  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr error;
    [[nodiscard]] bool ready() const { return batch.has_value() || error != nullptr; }
  };

  Slot& slot(int64_t step) { return ring[static_cast<size_t>(step) % ring.size()]; }

  void run_worker() {
    std::optional<BatchMaker> maker;
    for (int64_t step; take_step(step);) {
      Slot made;
      try {
        if (!maker) maker.emplace(loader, epoch);
        made.batch = maker->make(step, stop);
      } catch (...) {
        made.error = std::current_exception();
      }
      const std::lock_guard lock(mutex);
      slot(step) = std::move(made);
      batch_ready.notify_all();
    }
  }

  // Waits for room; false when there is nothing left to make.
  bool take_step(int64_t& step) {
    std::unique_lock lock(mutex);
    const auto ring_size = static_cast<int64_t>(ring.size());
    room.wait(lock, [&] {
      return stop.load() || next_to_make == num_steps || next_to_make < next_to_deliver + ring_size;
    });
    if (stop.load() || next_to_make == num_steps) return false;
    step = next_to_make++;
    return true;
  }

  void request_stop() {
    const std::lock_guard lock(mutex);
    stop.store(true);
    room.notify_all();
  }

  const NeighborLoader loader;
  const int64_t epoch;
  const int64_t num_steps;
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
    const auto threads = static_cast<size_t>(
        std::min<int64_t>(loader.options().threads, shared_->num_steps - first_step));
    shared_->workers.reserve(threads);
    try {
      while (shared_->workers.size() < threads) {
        shared_->workers.emplace_back(&Shared::run_worker, shared_.get());
      }
    } catch (const std::system_error& e) {
      if (!shared_->workers.empty()) return;  // fewer threads give the same batches
      throw Error(ErrorCode::kIo, std::string("cannot start a thread: ") + e.what(),
                  e.code().value());
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
    // Looked up anew at every wake-up: another thread may have taken the batch we waited for.
    const auto slot = [&]() -> Shared::Slot& { return shared_->slot(shared_->next_to_deliver); };
    const bool woken =
        shared_->batch_ready.wait_for(lock, timeout, [&] { return finished() || slot().ready(); });
    if (!woken || finished()) return std::nullopt;
    Shared::Slot taken = std::exchange(slot(), {});
    ++shared_->next_to_deliver;
    shared_->room.notify_one();
    shared_->batch_ready.notify_all();
    if (taken.error) {
      failed_ = true;
      std::rethrow_exception(taken.error);
    }
    return std::move(taken.batch);
  }

  bool done() const override {
    require_owner();
    const std::lock_guard lock(shared_->mutex);
    return finished();
  }

 private:
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
