#include "batch_stream.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "loader/loader_parts.h"
#include "ramet/cooperative_loader.h"
#include "ramet/error.h"

namespace ramet {
namespace {

// What the group's thread does for a step, or lets the other ranks know that this one could not
// fetch its batch. A task that has ended holds the pipeline no longer: Python may keep the task, as
// the frames of an exception do.
class StepTask final : public SampleTask {
 public:
  // `failure`: of the step, which this task does not make.
  StepTask(std::shared_ptr<Pipeline> pipeline, int64_t its_step, std::exception_ptr failure = {})
      : SampleTask(pipeline->epoch(), its_step),
        failure_(std::move(failure)),
        pipeline_(std::move(pipeline)) {
    pipeline_->begin_task();
  }
  // A fork has the queue of its parent, but not the threads, and the pipeline's mutex may be locked
  // in it for ever.
  ~StepTask() override {
    if (getpid() != owner_)
      new std::shared_ptr<Pipeline>(pipeline_);  // NOLINT: leaked on purpose
    else if (pipeline_ != nullptr)
      end(std::make_exception_ptr(given_up()));
  }

  void run(const Exchange& exchange) override {
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    pipeline_->run_task(step, exchange);
    end(nullptr);
  }
  void fail(std::exception_ptr error) override {
    if (pipeline_ != nullptr) end(error);
  }

 private:
  void end(const std::exception_ptr& error) {
    const auto made = failure_ == nullptr ? std::optional(step) : std::nullopt;
    std::exchange(pipeline_, nullptr)->end_task(made, error);
  }
  [[nodiscard]] Error given_up() const {
    return {ErrorCode::kIo, concat("epoch ", epoch, ", step ", step,
                                   " was not made: the thread of its group has ended")};
  }

  const pid_t owner_ = getpid();
  const std::exception_ptr failure_;
  std::shared_ptr<Pipeline> pipeline_;  // nullptr: it has ended
};

class BatchStream final : public EpochStream {
 public:
  BatchStream(std::shared_ptr<Pipeline> pipeline, std::shared_ptr<GroupThread> group, int workers)
      : group_(std::move(group)), workers_(std::make_unique<Workers>()) {
    workers_->pipeline = std::move(pipeline);
    submit_tasks();
    start(workers);
  }

  ~BatchStream() override {
    if (getpid() != owner_) {
      workers_.release();  // NOLINT: leaked on purpose, see Pipeline
      return;
    }
    pipeline().stop();
    for (std::thread& thread : workers_->threads)
      thread.join();
    pipeline().leave();
  }

  std::optional<Batch> next(std::chrono::milliseconds timeout) override {
    require_owner();
    std::optional<Pipeline::Slot> slot = pipeline().take(timeout);
    if (!slot) return std::nullopt;
    if (slot->error != nullptr) {
      report_failure(*slot);
      std::rethrow_exception(slot->error);
    }
    try {
      submit_tasks();
    } catch (...) {
      // This batch is good. The one that was not submitted has its error, and a later call throws
      // it.
    }
    return std::move(slot->batch);
  }

  bool done() const override {
    require_owner();
    return pipeline().is_done();
  }

  bool close(std::chrono::milliseconds timeout) override {
    if (getpid() != owner_) return true;
    pipeline().stop();
    return group_ == nullptr || group_->is_caller() || pipeline().wait_for_tasks(timeout);
  }

 private:
  struct Workers {
    std::shared_ptr<Pipeline> pipeline;
    std::vector<std::thread> threads;
  };

  [[nodiscard]] Pipeline& pipeline() const { return *workers_->pipeline; }

  void start(int workers) {
    auto& threads = workers_->threads;
    threads.reserve(static_cast<size_t>(workers));
    try {
      for (int i = 0; i < workers; ++i)
        threads.emplace_back(&Pipeline::run_worker, workers_->pipeline.get(), i);
    } catch (const std::exception& e) {  // no thread, or no memory for one
      if (!threads.empty()) return;      // fewer threads give the same batches
      pipeline().stop();                 // a task of the group may wait for one
      const auto* refused = dynamic_cast<const std::system_error*>(&e);
      if (refused == nullptr) throw;
      throw Error(ErrorCode::kIo, concat("cannot start a thread: ", e.what()),
                  refused->code().value());
    }
  }

  void report_failure(const Pipeline::Slot& slot) {
    if (group_ == nullptr || slot.is_told) return;
    try {
      group_->submit(std::make_unique<StepTask>(workers_->pipeline, slot.batch.step, slot.error));
    } catch (...) {
      // A group that has ended has told the others. The first error is the one to throw.
    }
  }

  // As many as there is room for. Called by the consumer alone, so that all ranks of a group, which
  // run the same program, submit in the same order.
  void submit_tasks() {
    if (group_ == nullptr) return;
    while (const std::optional<int64_t> step = pipeline().next_task())
      group_->submit(std::make_unique<StepTask>(workers_->pipeline, *step));
  }

  void require_owner() const {
    if (getpid() == owner_) return;
    if (group_ != nullptr)
      throw_invalid("this iterator was made in process ", owner_, "; ranks cannot be forked");
    throw_invalid("this iterator was made in process ", owner_,
                  " and has no threads in the forked process ", getpid(),
                  "; start a new one there");
  }

  const pid_t owner_ = getpid();
  const std::shared_ptr<GroupThread> group_;
  std::unique_ptr<Workers> workers_;
};

}  // namespace

std::unique_ptr<EpochStream> start_stream(std::shared_ptr<const LoaderParts> parts,
                                          Steps steps,
                                          MakeSource make_source,
                                          std::shared_ptr<GroupThread> group,
                                          GroupWork group_work) {
  const int64_t count = steps.plan->num_steps();
  if (steps.epoch < 0 || steps.first < 0 || steps.first > count)
    throw_invalid("cannot start at epoch ", steps.epoch, ", step ", steps.first, " of ", count);
  const auto workers = static_cast<int>(std::min<int64_t>(
      group_work == GroupWork::kSample ? 1 : parts->max_threads, count - steps.first));
  auto pipeline = std::make_shared<Pipeline>(std::move(parts), std::move(steps),
                                             std::move(make_source), group_work);
  return std::make_unique<BatchStream>(std::move(pipeline), std::move(group), workers);
}

}  // namespace ramet
