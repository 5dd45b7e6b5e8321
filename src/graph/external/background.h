// Background: one task at a time beside the caller.
#pragma once

#include <exception>
#include <functional>
#include <system_error>
#include <thread>
#include <utility>

namespace ramet {

class Background {
 public:
  Background() = default;
  ~Background() { join(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // After the end of the task before. Where there is no thread the caller does it.
  void start(std::function<void()> task) {
    wait();
    task_ = std::move(task);
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      run();
    }
  }

  // Until the task has ended; throws what it threw.
  void wait() {
    join();
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  void run() noexcept {
    try {
      task_();
    } catch (...) {
      error_ = std::current_exception();
    }
  }

  std::function<void()> task_;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace ramet
