// Checks free disk and memory before large writes. A full disk or memory is then an error up front,
// not a failed write, a SIGBUS or a killed process.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/array.h"

namespace ramet {

struct Space {
  int64_t bytes = 0;
  std::string limited_by;  // "MemAvailable", "the cgroup's limit"
};

// Memory available without swapping. `root` is put before /proc and /sys.
[[nodiscard]] Space available_memory(const std::string& root = "");

// Whether the file system of `folder` is in memory.
[[nodiscard]] bool is_in_memory(const std::string& folder);

// All throw kNoSpace, with "<what> needs <needed> ... <available>".
void require_memory(int64_t needed, const std::string& what, const std::string& root = "");
// The same for all of `array`, less what is in memory already.
void require_memory_to_hold(const Array& array,
                            const std::string& what,
                            const std::string& root = "");
// Checks the file system of `folder`, and memory as well if that file system is in memory.
void require_disk(int64_t needed, const std::string& what, const std::string& folder);

}  // namespace ramet
