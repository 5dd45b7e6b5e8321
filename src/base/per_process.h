// PerProcess<T>: a T that a forked child does not share with its parent. After a fork the parent's
// T may hold a locked mutex or name threads that do not exist; get() in the child therefore makes a
// fresh T and leaves the parent's untouched. Thread-safe.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>

namespace ramet {

template <typename T>
class PerProcess {
 public:
  PerProcess() = default;
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;
  ~PerProcess() {
    Slot* slot = slot_.load();
    if (slot != nullptr && slot->owner == getpid()) delete slot;
  }

  // `arguments`: of T's constructor, where this process has none yet. Threads that come together
  // may each make one, of which one is kept.
  template <typename... Arguments>
  T& get(const Arguments&... arguments) {
    Slot* seen = slot_.load();
    if (seen != nullptr && seen->owner == getpid()) return seen->value;
    auto fresh = std::make_unique<Slot>(arguments...);
    if (slot_.compare_exchange_strong(seen, fresh.get())) return fresh.release()->value;
    return seen->value;  // another thread was first
  }

 private:
  struct Slot {
    template <typename... Arguments>
    explicit Slot(const Arguments&... arguments) : value(arguments...) {}

    pid_t owner = getpid();
    T value;
  };
  std::atomic<Slot*> slot_{nullptr};
};

}  // namespace ramet
