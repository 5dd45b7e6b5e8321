// Why a driver may have refused to lock pages: it says little more than that it did.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/array.h"
#include "ramet/error.h"

namespace ramet {

// The pages [begin, begin + bytes) of `array`, which were to be locked while `locked` bytes of this
// process are so already.
struct RefusedPages {
  const Array& array;
  const void* begin;
  int64_t bytes = 0;
  int64_t locked = 0;
  // Where the driver locks no pages for reading alone, and these could not be made writable.
  std::string why_read_only = {};
};

// `reason`, with what was to be locked and the usual cause for memory of this kind: its mapping,
// its file system, or its size.
[[nodiscard]] Error refusal(const RefusedPages& pages, const Error& reason);

}  // namespace ramet
