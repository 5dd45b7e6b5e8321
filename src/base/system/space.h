// How much the disk and the memory have to give, asked before much is written: a full disk or
// memory is then an error up front, not a write that fails half way, a SIGBUS or a killed process.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/array.h"

namespace ramet {

struct Space {
  int64_t bytes = 0;
  std::string limited_by;  // "MemAvailable", "the cgroup's limit"
};

// Memory that can be had without swapping. `root` is put before /proc and /sys.
[[nodiscard]] Space available_memory(const std::string& root = "");

// Whether the file system of `folder` is memory itself.
[[nodiscard]] bool is_in_memory(const std::string& folder);

// All throw kNoSpace, with "<what> needs <needed> ... <available>".
void require_memory(int64_t needed, const std::string& what, const std::string& root = "");
// The same for having all of `array`, part of which may be in memory already, there at once.
void require_memory_to_hold(const Array& array,
                            const std::string& what,
                            const std::string& root = "");
// `folder` is on the file system that is asked; where that one is memory, memory is asked as well.
void require_disk(int64_t needed, const std::string& what, const std::string& folder);

}  // namespace ramet
