// What a process has open: descriptors and threads, as the kernel lists them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace ramet::test {

inline int64_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator entries(folder);
  return std::distance(begin(entries), end(entries));
}

inline int64_t open_descriptors() {
  return entries_of("/proc/self/fd");
}

// But for the kernel's own of an io_uring, and those that have ended: a joined thread is listed
// until it has had a core once more.
inline int64_t running_threads() {
  constexpr unsigned kExiting = 0x4, kOfIoUring = 0x10;  // the kernel's PF_EXITING, PF_IO_WORKER
  int64_t count = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "stat");
    std::string line;
    unsigned flags = 0;
    std::getline(file, line);
    const char* const state = line.c_str() + (line.rfind(')') + 1);
    if (std::sscanf(state, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1)
      count += (flags & (kExiting | kOfIoUring)) == 0;
  }
  return count;
}

}  // namespace ramet::test
