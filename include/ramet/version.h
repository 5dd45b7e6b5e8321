// The versions of the library and of the on-disk format it writes and reads.
#pragma once

namespace ramet {

inline constexpr const char* kVersion = "0.1.0";

// The number on the first line of ramet.txt (docs/format.md).
inline constexpr int kStoreFormat = 1;

}  // namespace ramet
