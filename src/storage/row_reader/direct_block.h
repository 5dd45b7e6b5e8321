// Whether a file can be read and written past the page cache.
#pragma once

#include <cstdint>

namespace ramet {

// The block of which direct requests are multiples, of a file that was opened with O_DIRECT; 0
// where there can be none.
[[nodiscard]] int64_t direct_block(int fd);

}  // namespace ramet
