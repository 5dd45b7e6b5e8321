// What the kernel has mapped at an address: which file, on which file system, shared or private.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/system/posix.h"

namespace ramet {

struct Mapping {
  uintptr_t begin = 0, end = 0;
  std::string file = {};         // its path; "" for memory without a file
  std::string file_system = {};  // "ext4", "tmpfs", "memfd"; "" where it is not known
  Identity identity = {0, 0};    // of the file
  uintptr_t offset = 0;          // in the file, of `begin`
  bool is_writable = false;
  bool is_private = false;  // writes make copies of pages
  // Whether its pages are in memory alone: anonymous, memfd, tmpfs, huge pages.
  [[nodiscard]] bool is_memory() const;
};

// The mapping of this process that holds `data`; nothing where there is none, or /proc is missing.
// `root` is put before /proc.
[[nodiscard]] std::optional<Mapping> mapping_at(const void* data, const std::string& root = "");

}  // namespace ramet
