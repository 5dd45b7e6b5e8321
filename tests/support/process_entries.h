// What a process has open: descriptors and threads, as the kernel lists them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <thread>

#include "patience.h"

namespace ramet::test {

inline int64_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

inline int64_t open_descriptors() {
  return entries_of("/proc/self/fd");
}

// The least of several looks: a joined thread is listed until it has had a core once more.
inline int64_t running_threads() {
  int64_t least = entries_of("/proc/self/task");
  for (int look = 1; look < 20; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    least = std::min(least, entries_of("/proc/self/task"));
  }
  return least;
}

}  // namespace ramet::test
