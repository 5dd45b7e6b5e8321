// What the kernel has mapped at an address: which file, on which file system, shared or private.
#pragma once

#include <optional>
#include <string>

#include "base/system/memory_map.h"

namespace ramet {

struct Mapping {
  MappedRange range = {};
  std::string file = {};         // its path; "" for memory without a file
  std::string file_system = {};  // "ext4", "tmpfs", "memfd"; "" where it is not known
  bool is_private = false;       // writes make copies of pages
  // Whether its pages are in memory alone: anonymous, memfd, tmpfs, huge pages.
  [[nodiscard]] bool is_memory() const;
};

// `root` is put before /proc.
[[nodiscard]] Mapping mapping_of(const MappedRange& range, const std::string& root = "");
// The mapping of this process that holds `data`; nothing where there is none, or /proc is missing.
[[nodiscard]] std::optional<Mapping> mapping_at(const void* data, const std::string& root = "");

}  // namespace ramet
