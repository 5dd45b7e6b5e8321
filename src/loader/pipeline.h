// Pipeline: the ring of an epoch's batches, and the work on them. A batch is made in the slot of
// its step: sampled, fetched, delivered. What it holds depends on its step alone, so neither the
// number of workers nor their timing can be seen in the result.
//
// Where rows come from a disk or through a cache that batches change, a batch is announced and
// begun between being sampled and fetched (TableReads): both in the order of steps, by one worker
// at a time. A cache that looks ahead has a batch begun only when the batches of its window are
// announced. Batches are fetched in that order, too, but by all workers at once.
//
// A worker fetches the oldest sampled batch, else it samples the next step, as soon as there is
// room ahead of the consumer. It marks a batch as sampled and takes its next work under one lock.
// So it fetches what it has sampled itself: scratch memory is warm, and a device's batch stays on
// one CUDA stream. Only what passes through the thread of a group waits in queues between the
// stages: where that samples, and where it pulls rows from other machines for batches that workers
// have sampled. Which steps the thread works on is up to the consumer alone.
//
// Where the number of threads is automatic, the first few workers do all the work, as many as the
// WorkerScaler asks for. Thread-safe. A forked child must leave the parent's untouched: its mutex
// may be locked for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "batch_source.h"
#include "clock.h"
#include "loader_parts.h"
#include "pulled_reads.h"
#include "ramet/cooperative_loader.h"
#include "table_reads.h"
#include "worker_scaler.h"

namespace ramet {

// Which steps a stream has.
struct Steps {
  std::shared_ptr<const BatchPlan> plan;
  int64_t epoch = 0, first = 0;
};

// What the thread of a group does in each step, in the order of steps; workers do the rest.
enum class GroupWork : uint8_t { kNone, kSample, kPull };

// How many batches may be ahead of those with their rows.
struct AheadLimits {
  int64_t reading = 0;  // rows on their way
  int64_t known = 0;    // sampled, for a cache to look at
  int64_t to_pull = 0;  // the same, for one in front of rows that are pulled

  [[nodiscard]] int64_t ahead() const { return reading + known + to_pull; }
};
// Of a group the same on all ranks, which are alike in their options.
[[nodiscard]] AheadLimits limits_of(const LoaderParts& parts, GroupWork group_work);

// Makes a source for one thread. An Exchange is for ranks that sample together; else it is empty.
using MakeSource = std::function<std::unique_ptr<BatchSource>(const Exchange&)>;

class Pipeline {
 public:
  struct Slot {
    Batch batch;
    std::unique_ptr<BatchReads> reads;  // of a batch that was begun
    std::exception_ptr error, task_error;
    bool has_task_ended = false;
    bool is_drawn = false;  // with GroupWork::kPull: a worker has sampled it
    bool is_sampled = false, is_ready = false;
  };

  Pipeline(std::shared_ptr<const LoaderParts> parts,
           Steps steps,
           MakeSource make_source,
           GroupWork group_work);

  // Works until stop() or the end of the epoch.
  void run_worker(int index);

  // What the thread of a group does: all tasks that were handed out, to their ends, also after
  // stop(), since the other ranks wait for it. next_task() returns the slot of the next step to
  // work on, or nullptr where there is none yet: both are up to the consumer alone, who calls it.
  // A task is under way from begin_task() to end_task(), which says what became of its slot, if it
  // has one.
  [[nodiscard]] Slot* next_task();
  void begin_task();
  void run_task(Slot& slot, const Exchange& exchange);
  void end_task(Slot* slot, std::exception_ptr error);

  // The next batch or its error, in order; nullopt at the end, or if `timeout` passes first.
  [[nodiscard]] std::optional<Slot> take(std::chrono::milliseconds timeout);
  [[nodiscard]] bool is_done();

  void stop();
  // Once stopped, and no worker runs any more: other streams may have the caches. Once no task is
  // under way either, memory and reads are given back, whoever still holds the pipeline.
  void leave();
  // Whether no task is under way any more; waits for it, but not longer than `timeout`.
  [[nodiscard]] bool wait_for_tasks(std::chrono::milliseconds timeout);

 private:
  void sample(BatchSource& source, Batch& batch);
  [[nodiscard]] bool announce_pulls(const Slot& slot);
  // False once the stream is stopped: `slot` may be a worker's for ever.
  [[nodiscard]] bool wait_until_drawn(const Slot& slot);

  enum class Task : uint8_t { kSample, kAnnounce, kBegin, kFetch };
  struct Work {
    Task task;
    Slot* slot;
  };
  void work_on(const Work& work, std::unique_ptr<BatchSource>& source, const CoreWait& core_wait);

  // These are called under the lock.
  [[nodiscard]] int threads() const;
  [[nodiscard]] int64_t ahead() const;
  [[nodiscard]] bool has_room() const;
  [[nodiscard]] bool is_finished() const;
  [[nodiscard]] Slot& slot_of(int64_t step);
  Slot& begin_step();
  [[nodiscard]] std::optional<Work> next_work(std::unique_lock<std::mutex>& lock, int index);
  [[nodiscard]] std::optional<Work> find_work(int index);
  [[nodiscard]] std::optional<Work> find_in_order();
  [[nodiscard]] bool is_over() const;
  void end_work(const Work& work);
  void end_in_order(const Work& work);
  void put_drawn(Slot& slot);
  void put(Slot& slot);
  // Of a stream that was left: what tasks may still use, once none is under way.
  void release() {
    if (tasks_ > 0) return;
    ring_.clear();
    pulls_.reset();
  }
  void begin_wait();
  void end_wait(Batch& batch);

  const std::shared_ptr<const LoaderParts> parts_;
  const Steps steps_;
  const int64_t num_steps_;
  const MakeSource make_source_;
  const GroupWork group_work_;
  const AheadLimits limits_;
  const ReadContext context_;
  std::unique_ptr<TableReads> reads_;   // nullptr: batches are fetched as soon as sampled
  std::unique_ptr<PulledReads> pulls_;  // of GroupWork::kPull
  int64_t next_to_announce_pull_;       // the group's thread's, as is:
  std::exception_ptr pull_error_;       // of that step
  std::atomic<bool> stop_{false};

  std::mutex mutex_;
  std::condition_variable room_, batch_drawn_, batch_ready_, task_ended_;
  WorkerScaler scaler_;
  std::vector<Slot> ring_;
  std::deque<Slot*> begun_;    // with GroupWork::kPull: to be sampled
  int64_t next_task_;          // of a group
  std::deque<Slot*> sampled_;  // to be fetched, the oldest first
  int64_t next_to_sample_, next_to_deliver_;
  // With reads_. Steps from order_end_ on are not announced: they do not exist, or one has failed.
  int64_t next_to_announce_, next_to_begin_, next_to_fetch_, order_end_;
  bool is_in_order_ = false;  // a worker announces or begins
  int tasks_ = 0;             // under way
  bool has_failed_ = false, has_left_ = false;
  // The last batch that the caller got: when, and what its thread had waited for a core by then.
  struct HandedOut {
    Clock::time_point at;
    double core_wait;
  };
  std::optional<Clock::time_point> waiting_since_;
  std::optional<HandedOut> handed_out_;
  std::thread::id caller_;
  std::optional<CoreWait> caller_wait_;  // of the thread that got it, which may not be the next
};

}  // namespace ramet
