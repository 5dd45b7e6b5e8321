#include "base/system/mapping.h"

#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>

namespace ramet {
namespace {

// Of a device, "8:1", as a line of mountinfo says it: ... 8:1 ROOT MOUNT OPTIONS ... - ext4 ...
std::string file_system_of(const std::string& device, const std::string& root) {
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string id, parent, its_device, word;
    words >> id >> parent >> its_device;
    if (its_device != device) continue;
    while (words >> word && word != "-") {
    }
    if (words >> word) return word;
  }
  return "";
}

// maps has devices in base 16, "08:01", mountinfo in base 10.
std::string in_decimal(const std::string& device) {
  std::istringstream numbers(device);
  unsigned major = 0, minor = 0;
  char colon = 0;
  numbers >> std::hex >> major >> colon >> minor;
  return std::to_string(major) + ":" + std::to_string(minor);
}

// Files that the kernel keeps in memory, and no mount has.
bool is_unmounted(const std::string& path) {
  return path.starts_with("/memfd:") || path.starts_with("/dev/zero") ||
         path.starts_with("/SYSV") || path.starts_with("/anon_hugepage");
}

}  // namespace

bool Mapping::is_memory() const {
  return file.empty() || file_system == "memfd" || file_system == "tmpfs" ||
         file_system == "ramfs" || file_system == "hugetlbfs";
}

Mapping mapping_of(const MappedRange& range, const std::string& root) {
  Mapping mapping{.range = range, .is_private = range.is_private()};
  if (!range.path.starts_with('/')) return mapping;  // [heap], [stack], [anon: ...]
  mapping.file = range.path;
  mapping.file_system =
      is_unmounted(range.path) ? "memfd" : file_system_of(in_decimal(range.device), root);
  return mapping;
}

std::optional<Mapping> mapping_at(const void* data, const std::string& root) {
  const std::vector<MappedRange> found = mapped_ranges(data, 1, root);
  return found.empty() ? std::nullopt : std::optional(mapping_of(found.front(), root));
}

}  // namespace ramet
