#include "cgroup.h"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace ramet {

namespace {

// The files that the two versions keep in a group's folder.
struct Version {
  const char* mount;
  const char* limit;
  const char* usage;
  const char* stat_prefix;  // of the lines in memory.stat that include the groups below
};
constexpr Version kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", ""};
constexpr Version kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                            "memory.usage_in_bytes", "total_"};

// Version 1 writes "no limit" as a number near 2^63, version 2 as "max".
constexpr int64_t kNoLimit = int64_t{1} << 60;

std::optional<int64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  int64_t value = 0;
  if (!(file >> value)) return std::nullopt;
  return value;
}

// Page cache of files, which the kernel drops before it refuses memory. Shared memory is not in
// these two lists.
int64_t reclaimable(const std::string& folder, const Version& version) {
  std::ifstream file(folder + "/memory.stat");
  const std::string prefix = version.stat_prefix;
  std::string key;
  int64_t value = 0, sum = 0;
  while (file >> key >> value)
    if (key == prefix + "inactive_file" || key == prefix + "active_file") sum += value;
  return sum;
}

std::optional<int64_t> available_in(const std::string& folder, const Version& version) {
  const auto limit = read_number(folder + "/" + version.limit);
  const auto usage = read_number(folder + "/" + version.usage);
  if (!limit || !usage || *limit >= kNoLimit) return std::nullopt;
  const int64_t kept = std::max<int64_t>(*usage - reclaimable(folder, version), 0);
  return std::max<int64_t>(*limit - kept, 0);
}

// The least of the group at `path` and of those around it. Inside a container the path may be of
// another namespace; its own group is then the mount itself, where every walk ends.
std::optional<int64_t> least_available(const std::string& mount,
                                       std::string path,
                                       const Version& version) {
  std::optional<int64_t> least;
  while (true) {
    const auto here = available_in(mount + path, version);
    if (here && (!least || *here < *least)) least = here;
    if (path.empty()) return least;
    const size_t slash = path.rfind('/');
    path.resize(slash == path.npos ? 0 : slash);
  }
}

bool names_memory(std::string_view controllers) {
  while (true) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "memory") return true;
    if (comma == controllers.npos) return false;
    controllers.remove_prefix(comma + 1);
  }
}

}  // namespace

// Lines of /proc/self/cgroup: "4:memory:/group" (version 1), "0::/group" (version 2).
std::optional<int64_t> cgroup_available(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  std::optional<int64_t> least;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !names_memory(controllers)) continue;
    const Version& version = controllers.empty() ? kVersion2 : kVersion1;
    const auto here = least_available(root + version.mount, line.substr(second + 1), version);
    if (here && (!least || *here < *least)) least = here;
  }
  return least;
}

}  // namespace ramet
