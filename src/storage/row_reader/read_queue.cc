#include "read_queue.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace ramet {

void ReadQueue::push(ReadBatch& batch) {
  const size_t requests = batch.plan.requests.size();
  if (requests == 0) return;
  {
    const std::lock_guard lock(mutex_);
    batches_.push_back(&batch);
    batch.unfinished.store(requests);
  }
  work_.notify_all();
}

void ReadQueue::wait(ReadBatch& batch, bool drop) {
  std::unique_lock lock(mutex_);
  if (drop && batch.next < batch.plan.requests.size() && batch.unfinished.load() > 0) {
    std::erase(batches_, &batch);
    batch.unfinished.fetch_sub(batch.plan.requests.size() - batch.next);
    batch.next = batch.plan.requests.size();
  }
  finished_.wait(lock, [&] { return batch.unfinished.load() == 0; });
}

void ReadQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  work_.notify_all();
}

size_t ReadQueue::take(std::span<ReadTask> tasks, bool waits) {
  std::unique_lock lock(mutex_);
  if (waits) work_.wait(lock, [&] { return stopped_ || !batches_.empty(); });
  size_t taken = 0;
  while (taken < tasks.size() && !batches_.empty()) {
    ReadBatch& batch = *batches_.front();
    tasks[taken++] = {&batch, batch.next++};
    if (batch.next == batch.plan.requests.size()) batches_.pop_front();
  }
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  learner_.observe(!batches_.empty(), now.count());
  return taken;
}

void ReadQueue::finish(const ReadTask& task, const std::byte* data, int64_t bytes, int error) {
  ReadBatch& batch = *task.batch;
  const ReadRequest& request = task.request();
  if (bytes < request.needed) {
    note(task, bytes, error);
  } else {
    const auto width = static_cast<size_t>(batch.row_bytes);
    for (size_t i = request.first_copy; i < request.end_copy; ++i) {
      const RowCopy& copy = batch.plan.copies[i];
      std::memcpy(batch.out + copy.to * batch.row_bytes, data + copy.at, width);
    }
  }
  learner_.finished(request);
  count_finished(batch, 1);
}

void ReadQueue::note(const ReadTask& task, int64_t bytes, int error) {
  ReadBatch& batch = *task.batch;
  const std::lock_guard lock(mutex_);
  if (batch.failed.load() && batch.failure.request < task.index) return;
  batch.failed.store(true);
  batch.failure = {task.index, bytes, error};
}

// The batch may be gone once its last request is counted.
void ReadQueue::count_finished(ReadBatch& batch, size_t requests) {
  if (batch.unfinished.fetch_sub(requests) > requests) return;
  const std::lock_guard lock(mutex_);
  finished_.notify_all();
}

}  // namespace ramet
