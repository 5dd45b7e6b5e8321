// ThreadNote: a pointer per thread, nullptr until set. It replaces thread_local. In a module loaded
// at run time, as Python loads extensions, glibc allocates thread_local variables at first use, and
// ends the process if it has no memory. Here set() then does nothing. The pointer is never followed
// or freed. Thread-safe; after a fork the child's one thread keeps its note. For variables that
// live as long as the process: nothing is freed.
#pragma once

#include <pthread.h>

namespace ramet {

class ThreadNote {
 public:
  ThreadNote() : made_(pthread_key_create(&key_, nullptr) == 0) {}
  ThreadNote(const ThreadNote&) = delete;
  ThreadNote& operator=(const ThreadNote&) = delete;

  void set(const void* note) noexcept {
    if (made_) pthread_setspecific(key_, note);
  }
  [[nodiscard]] const void* get() const noexcept {
    return made_ ? pthread_getspecific(key_) : nullptr;
  }

 private:
  pthread_key_t key_{};
  bool made_;
};

}  // namespace ramet
