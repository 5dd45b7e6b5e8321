// Pipeline: the ring of an epoch's batches, and the work on them. A batch is made in the slot of
// its step, stage by stage (stages.h). What it holds depends on its step alone, so neither the
// number of workers nor their timing can be seen in the result. Where the number of threads is
// automatic, the first few workers do all the work, as many as the WorkerScaler asks for.
//
// The thread of a group works on the steps that the caller hands out, whose turn is up to the
// caller alone; so all ranks work on the same ones. Where a step fails, the ones before it are
// still made.
//
// Thread-safe. A forked child must leave the parent's untouched: its mutex may be locked for ever.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "clock.h"
#include "loader/rows/table_reads.h"
#include "loader/seeds/batch_plan.h"
#include "loader/sources/batch_source.h"
#include "ramet/loader.h"
#include "stages.h"
#include "worker_scaler.h"

namespace ramet {

// Which steps a stream has.
struct Steps {
  std::shared_ptr<const BatchPlan> plan;
  int64_t epoch = 0, first = 0;
};

// Makes a source for one thread. An Exchange is for ranks that sample together; else it is empty.
using MakeSource = std::function<std::unique_ptr<BatchSource>(const Exchange&)>;

class Pipeline {
 public:
  struct Slot {
    Batch batch;
    std::unique_ptr<BatchReads> reads;  // of a batch that was begun
    std::exception_ptr error;
    size_t stage = kSample;       // the one to come, or under way
    bool is_busy = false;         // a worker is at it
    bool has_task_ended = false;  // of the group's thread
    bool is_told = false;         // the other ranks know its error
  };

  Pipeline(std::shared_ptr<const LoaderParts> parts,
           Steps steps,
           MakeSource make_source,
           GroupWork group_work);

  // Works until stop() or the end of the epoch.
  void run_worker(int index);

  // What the thread of a group does: all tasks that were handed out, to their ends, also after
  // stop(), since the other ranks wait for it. next_task() returns the next step to work on, if
  // there is one yet: the caller calls it. A task is under way from begin_task() to end_task(),
  // which says what became of its step, if it has one.
  [[nodiscard]] std::optional<int64_t> next_task();
  void begin_task();
  void run_task(int64_t step, const Exchange& exchange);
  void end_task(std::optional<int64_t> step, const std::exception_ptr& error);

  // The next batch or its error, in order; nullopt at the end, or if `timeout` passes first.
  [[nodiscard]] std::optional<Slot> take(std::chrono::milliseconds timeout);
  [[nodiscard]] bool is_done();
  [[nodiscard]] int64_t epoch() const { return steps_.epoch; }

  void stop();
  // Once stopped, and no worker runs any more: other streams may have the caches. Once no task is
  // under way either, memory is given back, whoever still holds the pipeline.
  void leave();
  // Whether no task is under way any more; waits for it, but not longer than `timeout`.
  [[nodiscard]] bool wait_for_tasks(std::chrono::milliseconds timeout);

 private:
  struct Work {
    Stage stage;
    int64_t step;
  };
  void work_on(const Work& work, std::unique_ptr<BatchSource>& source, const CoreWait& core_wait);
  void sample(BatchSource& source, int64_t step);
  [[nodiscard]] BatchReads* reads_to_pull(int64_t step);

  // These are called under the lock.
  [[nodiscard]] int threads() const;
  [[nodiscard]] int64_t limit_of(const StageState& stage) const;
  [[nodiscard]] bool is_finished() const;
  [[nodiscard]] bool is_ready(const Slot& slot) const;
  [[nodiscard]] Slot& slot_of(int64_t step) {
    return ring_[static_cast<size_t>(step) % ring_.size()];
  }
  [[nodiscard]] std::optional<Work> next_work(std::unique_lock<std::mutex>& lock, int index);
  [[nodiscard]] std::optional<Work> find_work(int index);
  [[nodiscard]] bool may_take(Stage stage);
  [[nodiscard]] Work take_step(Stage stage);
  [[nodiscard]] bool is_over() const;
  void end_stage(int64_t step, const std::exception_ptr& error);
  void give_back();
  void begin_wait();
  void end_wait(Batch& batch);

  const std::shared_ptr<const LoaderParts> parts_;
  const Steps steps_;
  const int64_t num_steps_;
  const MakeSource make_source_;
  const GroupWork group_work_;
  const AheadLimits limits_;
  const ReadContext context_;
  std::unique_ptr<TableReads> reads_;  // nullptr: batches are neither announced nor begun
  std::atomic<bool> stop_{false};

  std::mutex mutex_;
  std::condition_variable room_, changed_;  // for workers; for the caller, and the group's thread
  WorkerScaler scaler_;
  std::vector<Slot> ring_;
  std::array<StageState, kStages> stages_;
  int64_t end_;               // steps from here on do not exist, or one has failed
  bool is_in_order_ = false;  // a worker announces or begins
  int tasks_ = 0;             // under way
  const BatchReads* pulling_ = nullptr;
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
