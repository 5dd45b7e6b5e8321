// GilRelease lets other Python threads run while we work, GilAcquire lets us call Python meanwhile.
// Both survive the end of the interpreter.
//
// Older Pythons end a daemon thread that asks for the GIL during finalization by unwinding its
// stack, which aborts the process when a C++ destructor is on it. Such a thread is put to sleep
// instead, as Python 3.14 does: once Python's exit handlers run, nobody but the exiting thread
// takes the GIL again through us.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>

namespace ramet::bind {

// While one exists, the exit of the interpreter waits for it.
class TakingGil {
 public:
  TakingGil() {
    ++threads_;
    if (exiting_ && std::this_thread::get_id() != exiting_thread_) {
      --threads_;
      for (;;)
        pause();
    }
  }
  ~TakingGil() { --threads_; }
  TakingGil(const TakingGil&) = delete;
  TakingGil& operator=(const TakingGil&) = delete;

  // To be called by an exit handler, with the GIL.
  static void begin_exit() {
    exiting_thread_ = std::this_thread::get_id();
    exiting_ = true;
    PyThreadState* state = PyEval_SaveThread();  // lets those in who are past the check
    while (threads_ > 0)
      std::this_thread::yield();
    PyEval_RestoreThread(state);
  }

 private:
  inline static std::atomic<bool> exiting_{false};
  inline static std::atomic<int> threads_{0};
  inline static std::thread::id exiting_thread_;
};

class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    const TakingGil taking;
    PyEval_RestoreThread(state_);
  }

 private:
  PyThreadState* state_;
};

class GilAcquire {
 public:
  GilAcquire() {
    const TakingGil taking;
    state_ = PyGILState_Ensure();
  }
  GilAcquire(const GilAcquire&) = delete;
  GilAcquire& operator=(const GilAcquire&) = delete;
  ~GilAcquire() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

// A T whose destructor runs without the GIL: it may be the last user of page-locked memory, and to
// unlock a large table takes seconds.
template <typename T>
class DiesWithoutGil : public T {
 public:
  using T::T;
  DiesWithoutGil(const DiesWithoutGil&) = delete;
  DiesWithoutGil& operator=(const DiesWithoutGil&) = delete;
  ~DiesWithoutGil() {
    const GilRelease release;
    const T last = std::move(static_cast<T&>(*this));
  }
};

}  // namespace ramet::bind
