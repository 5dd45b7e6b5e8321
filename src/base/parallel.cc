// A pool of worker threads that survives fork. Work is a shared counter of chunks: the caller and
// any idle worker take the next chunk until none is left, so the caller never waits for a worker
// that has not started yet, and a pool without workers is still correct.
//
// Fork: a child makes a pool of its own (PerProcess).
#include "base/parallel.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/per_process.h"
#include "base/thread_note.h"

namespace ramet {
namespace {

constexpr int kMaxWorkers = 255;

// Noted by threads that are at work on a parallel_for. Where the note cannot be made, a nested call
// offers its chunks to the pool as well.
ThreadNote& inside_parallel_for() {
  static ThreadNote note;
  return note;
}

// One parallel_for call. Workers may still hold it after the call returned, but then every chunk
// is taken and they touch nothing of the caller's.
struct Job {
  Job(int64_t size, int64_t its_grain, FunctionRef<void(int64_t, int64_t)> its_body)
      : n(size), grain(its_grain), body(its_body) {}

  const int64_t n, grain, num_chunks = (n + grain - 1) / grain;
  const FunctionRef<void(int64_t, int64_t)> body;
  std::atomic<int64_t> next_chunk{0};
  std::atomic<int64_t> chunks_done{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::condition_variable finished;
  std::exception_ptr error;

  void work() {
    inside_parallel_for().set(this);
    for (int64_t c; (c = next_chunk.fetch_add(1)) < num_chunks;) {
      if (!failed.load()) run_chunk(c);
      if (chunks_done.fetch_add(1) + 1 == num_chunks) {
        const std::lock_guard lock(mutex);
        finished.notify_all();
      }
    }
    inside_parallel_for().set(nullptr);
  }

  void run_chunk(int64_t c) {
    try {
      body(c * grain, std::min(n, (c + 1) * grain));
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }

  void wait() {
    std::unique_lock lock(mutex);
    finished.wait(lock, [&] { return chunks_done.load() == num_chunks; });
  }
};

class Pool {
 public:
  // Offers the job to up to `helpers` workers.
  void submit(const std::shared_ptr<Job>& job, int helpers) {
    const std::lock_guard lock(mutex_);
    grow(helpers);
    jobs_.insert(jobs_.end(), static_cast<size_t>(helpers), job);
    wake_.notify_all();
  }

 private:
  void grow(int helpers) {
    while (num_workers_ < std::min(helpers, kMaxWorkers)) {
      try {
        std::thread(&Pool::run_worker, this).detach();
      } catch (const std::exception&) {
        return;  // no thread, or no memory for one: the caller does the work
      }
      ++num_workers_;
    }
  }

  void run_worker() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !jobs_.empty(); });
        job = std::move(jobs_.back());
        jobs_.pop_back();
      }
      job->work();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<Job>> jobs_;
  int num_workers_ = 0;
};

// Never destroyed: its detached workers may outlive static destruction.
Pool& pool() {
  static auto* const pools = new PerProcess<Pool>;
  return pools->get();
}

// RAMET_NUM_THREADS; without it, no limit.
int read_thread_limit() {
  const char* text = std::getenv("RAMET_NUM_THREADS");
  const int limit = text != nullptr ? std::atoi(text) : 0;
  return limit >= 1 ? limit : std::numeric_limits<int>::max();
}

}  // namespace

int hardware_threads() {
  static const int limit = read_thread_limit();
  cpu_set_t set;
  const int threads =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : machine_threads();
  return std::clamp(threads, 1, limit);
}

int machine_threads() {
  static const int threads = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  return threads;
}

void parallel_for(int64_t n, int64_t grain, int threads, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t num_chunks = (n + grain - 1) / grain;
  if (threads <= 0) threads = hardware_threads();
  threads = static_cast<int>(std::min<int64_t>(threads, num_chunks));
  if (threads == 1 || inside_parallel_for().get() != nullptr) {
    for (int64_t c = 0; c < num_chunks; ++c)
      body(c * grain, std::min(n, (c + 1) * grain));
    return;
  }
  const auto job = std::make_shared<Job>(n, grain, body);
  pool().submit(job, std::min(threads - 1, kMaxWorkers));
  job->work();
  job->wait();
  // Moved out: a worker that still holds the job must not be the one to free the exception.
  if (job->error) std::rethrow_exception(std::exchange(job->error, nullptr));
}

}  // namespace ramet
