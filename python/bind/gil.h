// GilRelease: lets other Python threads run while we work, and survives the end of the interpreter.
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

namespace ramet::bind {

class GilRelease {
 public:
  GilRelease() : state_(PyEval_SaveThread()) {}
  GilRelease(const GilRelease&) = delete;
  GilRelease& operator=(const GilRelease&) = delete;
  ~GilRelease() {
    ++taking_back_;
    if (exiting_ && std::this_thread::get_id() != exiting_thread_) {
      --taking_back_;
      for (;;)
        pause();
    }
    PyEval_RestoreThread(state_);
    --taking_back_;
  }

  // To be called by an exit handler, with the GIL.
  static void begin_exit() {
    exiting_thread_ = std::this_thread::get_id();
    exiting_ = true;
    PyThreadState* state = PyEval_SaveThread();  // lets those in who are past the check
    while (taking_back_ > 0)
      std::this_thread::yield();
    PyEval_RestoreThread(state);
  }

 private:
  PyThreadState* state_;
  inline static std::atomic<bool> exiting_{false};
  inline static std::atomic<int> taking_back_{0};
  inline static std::thread::id exiting_thread_;
};

}  // namespace ramet::bind
