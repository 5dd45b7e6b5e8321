// The names of kernels: an error that CUDA reports later is most likely that of the last one.
#pragma once

#include <atomic>

#include "base/thread_note.h"

namespace ramet {

// The one that the thread launches, or has launched.
inline ThreadNote& launch_of_thread() {
  static ThreadNote name;
  return name;
}
inline const char* last_launch_of_thread() {
  const auto* name = static_cast<const char*>(launch_of_thread().get());
  return name != nullptr ? name : "none";
}

// The last that any thread of the process has launched.
inline std::atomic<const char*>& last_launch() {
  static std::atomic<const char*> name{"none"};
  return name;
}

}  // namespace ramet
