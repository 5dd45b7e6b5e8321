// require_index: the check of every position that a caller names: a step, a rank, a type, a part.
#pragma once

#include <cstdint>
#include <string>

#include "ramet/error.h"

namespace ramet {

// Throws kOutOfRange, "step is 7, outside [0, 3)", unless 0 <= index < bound.
inline void require_index(int64_t index, int64_t bound, const char* what) {
  if (0 <= index && index < bound) return;
  throw Error(ErrorCode::kOutOfRange, std::string(what) + " is " + std::to_string(index) +
                                          ", outside [0, " + std::to_string(bound) + ")");
}

}  // namespace ramet
