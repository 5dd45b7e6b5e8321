// What /proc/self/maps says of a range of addresses, from its text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ramet {

struct Mapping {
  uint64_t begin = 0, end = 0;
  std::string permissions;  // "r--s"
  int64_t offset = 0;       // in the file
  std::string device;       // "fe:00"
  uint64_t inode = 0;       // 0: not of a file
  std::string path;         // as it is called now; " (deleted)" at its end where it is no more

  [[nodiscard]] bool is_reserved() const { return permissions.starts_with("---"); }
};

// The mappings that overlap [begin, end), in order; of those side by side in one file, their union.
// Lines that are not understood are left out.
[[nodiscard]] std::vector<Mapping> parse_maps(std::string_view maps, uint64_t begin, uint64_t end);

}  // namespace ramet
