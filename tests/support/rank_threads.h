// Ranks in one program, each with the thread of its group, as processes have them.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "cooperative_fixture.h"
#include "ramet/cooperative_loader.h"
#include "streams.h"

namespace ramet::test {

// Moves messages between the ranks' threads. Once a rank has failed, so do all exchanges.
class Mail {
 public:
  explicit Mail(size_t ranks) : sent_(ranks) {}

  Message exchange(size_t rank, const Message& message) {
    std::unique_lock lock(mutex_);
    if (failed_) throw Error(ErrorCode::kIo, "another rank failed");
    const int64_t mine = round_;
    sent_[rank] = message;
    if (++num_sent_ == sent_.size()) {
      arrived_ = deliver(sent_);
      num_sent_ = 0;
      ++round_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return round_ != mine || failed_; });
    if (round_ == mine) throw Error(ErrorCode::kIo, "another rank failed");
    return arrived_[rank];
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Messages sent_, arrived_;
  size_t num_sent_ = 0;
  int64_t round_ = 0;
  bool failed_ = false;
};

class RankThread final : public GroupThread {
 public:
  RankThread(Mail& mail, size_t rank) : mail_(mail), rank_(rank), thread_([this] { run(); }) {}
  ~RankThread() override {
    submit(nullptr);
    thread_.join();
  }

  void submit(std::unique_ptr<SampleTask> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  bool is_caller() const override { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void run() {
    while (const auto task = next()) {
      std::exception_ptr error;
      try {
        task->run([&](const Message& message) { return mail_.exchange(rank_, message); });
      } catch (...) {
        error = std::current_exception();
      }
      if (error == nullptr) continue;
      mail_.fail();
      task->fail(std::move(error));
    }
  }

  std::unique_ptr<SampleTask> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !tasks_.empty(); });
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    return task;
  }

  Mail& mail_;
  const size_t rank_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<SampleTask>> tasks_;
  std::thread thread_;  // the last member: it uses the others
};

// Drops its tasks.
class Nowhere final : public GroupThread {
 public:
  void submit(std::unique_ptr<SampleTask> /*task*/) override {}
  bool is_caller() const override { return false; }
};

class FailingTask final : public SampleTask {
 public:
  FailingTask() : SampleTask(0, 0) {}
  void run(const Exchange& /*exchange*/) override { throw std::bad_alloc(); }
  void fail(std::exception_ptr /*error*/) override {}
};

// The error that ends a stream, if one does.
inline std::optional<ErrorCode> error_of(EpochStream& stream) {
  try {
    while (stream.next(kPatience)) {
    }
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

inline void close(EpochStream& stream) {
  while (!stream.close(kPatience)) {
  }
}

}  // namespace ramet::test
