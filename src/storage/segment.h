// The layout of a segment, which its reader and its writer share. docs/format.md, section 6.
#pragma once

#include <cstdint>
#include <string_view>

namespace ramet {

// Magic, length of the table of contents (little-endian uint64), table of contents, arrays.
inline constexpr std::string_view kSegmentMagic = "RAMETSEG";
inline constexpr int64_t kSegmentTocOffset = 16;

inline constexpr int64_t kSegmentAlignment = 4096;
inline constexpr int64_t kHugeAlignment = int64_t{2} << 20;

[[nodiscard]] inline int64_t round_up(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace ramet
