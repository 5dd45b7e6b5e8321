// The memory limit of the control group that this process is in, of version 1 or 2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ramet {

// Bytes that the group and the groups around it may still take, counting the page cache they
// would give back; nullopt without a limit. `root` is put before /proc and /sys.
[[nodiscard]] std::optional<int64_t> cgroup_available(const std::string& root = "");

}  // namespace ramet
