// What /proc/self/smaps and /proc/self/status say, from their text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ramet/pages.h"

namespace ramet {

struct Addresses {
  uint64_t begin, end;
};

// The mappings in `smaps` that overlap one of the ranges; page_tables stays 0. Lines that are not
// understood count nothing.
[[nodiscard]] PageUse parse_smaps(std::string_view smaps, std::span<const Addresses> ranges);

// The value of a line such as "VmPTE:	     120 kB", in bytes; 0 if there is none.
[[nodiscard]] int64_t parse_status(std::string_view status, std::string_view key);

}  // namespace ramet
