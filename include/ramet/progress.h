// Progress: reports of long calls to their caller.
#pragma once

#include <cstdint>
#include <functional>

namespace ramet {

// Called on the caller's thread with the amounts so far and in total, in bytes unless the call says
// otherwise. It may throw to stop the call, which then leaves nothing behind.
using Progress = std::function<void(int64_t done, int64_t total)>;

}  // namespace ramet
