// The names of the kernels launched last: an error that CUDA reports later is most likely theirs.
#pragma once

#include <atomic>

namespace ramet {

inline const char*& last_launch_of_thread() {
  thread_local const char* name = "none";
  return name;
}

// Of all threads of the process.
inline std::atomic<const char*>& last_launch() {
  static std::atomic<const char*> name{"none"};
  return name;
}

inline void note_launch(const char* name) {
  last_launch_of_thread() = name;
  last_launch().store(name, std::memory_order_relaxed);
}

}  // namespace ramet
