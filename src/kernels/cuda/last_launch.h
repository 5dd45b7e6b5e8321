// The names of kernels: an error that CUDA reports later is most likely that of the last one.
#pragma once

#include <atomic>

namespace ramet {

// The one that the thread launches, or has launched.
inline const char*& last_launch_of_thread() {
  thread_local const char* name = "none";
  return name;
}

// The last that any thread of the process has launched.
inline std::atomic<const char*>& last_launch() {
  static std::atomic<const char*> name{"none"};
  return name;
}

}  // namespace ramet
