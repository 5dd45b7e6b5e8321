// What /proc/self/maps says of a range of addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ramet {

struct MappedRange {
  uint64_t begin = 0, end = 0;
  std::string permissions;  // "r--s"
  int64_t offset = 0;       // in the file
  std::string device;       // "fe:00"
  uint64_t inode = 0;       // 0: not of a file
  std::string path;         // as it is called now; " (deleted)" at its end where it is no more

  [[nodiscard]] bool is_reserved() const { return permissions.starts_with("---"); }
  [[nodiscard]] bool is_writable() const { return permissions.find('w') != std::string::npos; }
  // Writes make copies of pages.
  [[nodiscard]] bool is_private() const { return permissions.ends_with('p'); }
};

// The mappings that overlap [begin, end), in order; of those side by side in one file, their union.
// Lines that are not understood are left out.
[[nodiscard]] std::vector<MappedRange> parse_maps(std::string_view maps,
                                                  uint64_t begin,
                                                  uint64_t end);

// Those of this process, of [data, data + bytes). None where /proc is missing; `root` is put before
// it.
[[nodiscard]] std::vector<MappedRange> mapped_ranges(const void* data,
                                                     int64_t bytes,
                                                     const std::string& root = "");

}  // namespace ramet
