// Requests on their way from those who submit rows to the workers that read them.
//
// A batch belongs to who submitted it, who must wait() for it before it goes. Thread-safe. Not for
// use after a fork. Neither waits nor finishing take memory or throw.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>

#include "learned_costs.h"
#include "plan_requests.h"

namespace ramet {

// What went wrong with a request: errno, or 0 where the file ended after `bytes` of it.
struct ReadFailure {
  size_t request = 0;
  int64_t bytes = 0;
  int error = 0;
};

// What one submit() asked for.
struct ReadBatch {
  ReadPlan plan;
  std::byte* out = nullptr;
  int64_t row_bytes = 0;
  // Of the queue.
  size_t next = 0;                    // the first request that no worker has
  std::atomic<size_t> unfinished{0};  // requests
  std::atomic<bool> failed{false};
  ReadFailure failure;  // of the first request that failed
};

struct ReadTask {
  ReadBatch* batch = nullptr;
  size_t index = 0;

  [[nodiscard]] const ReadRequest& request() const { return batch->plan.requests[index]; }
};

class ReadQueue {
 public:
  explicit ReadQueue(CostLearner& learner) : learner_(learner) {}

  // ---- who submits
  void push(ReadBatch& batch);
  // Until all requests of the batch are finished, or dropped. `drop`: those that no worker has.
  void wait(ReadBatch& batch, bool drop);
  // Once nothing is queued, workers get no more tasks.
  void stop();

  // ---- workers
  // Fills `tasks`, oldest batch first; returns how many. Where there is none it waits for one if
  // `waits`; then 0 means that it was stopped.
  [[nodiscard]] size_t take(std::span<ReadTask> tasks, bool waits);
  // `bytes` of the request are in `data`; fewer than it needs: for the reason `error`.
  void finish(const ReadTask& task, const std::byte* data, int64_t bytes, int error);

 private:
  void note(const ReadTask& task, int64_t bytes, int error);
  void count_finished(ReadBatch& batch, size_t requests);

  CostLearner& learner_;
  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::deque<ReadBatch*> batches_;  // with requests that no worker has
  bool stopped_ = false;
};

}  // namespace ramet
