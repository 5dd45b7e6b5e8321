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
#include <memory>
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

// A T that dies without the GIL: it may be the last user of page-locked memory, and to unlock a
// large table takes seconds. What T owns is moved out, since T's own destructor runs after this
// one's body, with the GIL; so T must be empty once it was moved from, as a shared_ptr is.
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

// The same for what is shared. The last copy of the result must die in a thread that has the GIL.
template <typename T>
std::shared_ptr<T> dies_without_gil(std::shared_ptr<T> owner) {
  if (owner == nullptr) return nullptr;
  T* const shared = owner.get();
  return {shared, [owner = std::move(owner)](T*) mutable {
            const GilRelease release;
            owner.reset();
          }};
}

}  // namespace ramet::bind
