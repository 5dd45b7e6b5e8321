#include "base/system/mapping.h"

#include <sys/sysmacros.h>

#include <cstdint>
#include <fstream>
#include <sstream>

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

struct Device {
  unsigned major = 0, minor = 0;
};

// maps has devices in base 16, "08:01", mountinfo in base 10.
Device device_of(const std::string& text) {
  std::istringstream numbers(text);
  Device device;
  char colon = 0;
  numbers >> std::hex >> device.major >> colon >> device.minor;
  return device;
}
std::string in_decimal(const Device& device) {
  return std::to_string(device.major) + ":" + std::to_string(device.minor);
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

std::optional<Mapping> mapping_at(const void* data, const std::string& root) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  std::ifstream maps(root + "/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    Mapping mapping;
    char dash = 0;
    uint64_t inode = 0;
    std::string access, device_text, path;
    words >> std::hex >> mapping.begin >> dash >> mapping.end >> access >> mapping.offset >>
        device_text >> std::dec >> inode;
    if (!words || address < mapping.begin || address >= mapping.end) continue;
    std::getline(words >> std::ws, path);
    mapping.is_writable = access.size() > 1 && access[1] == 'w';
    mapping.is_private = access.ends_with('p');
    if (!path.starts_with('/')) return mapping;  // [heap], [stack], [anon: ...]
    const Device device = device_of(device_text);
    mapping.file = path;
    mapping.file_system = is_unmounted(path) ? "memfd" : file_system_of(in_decimal(device), root);
    mapping.identity = {makedev(device.major, device.minor), inode};
    return mapping;
  }
  return std::nullopt;
}

}  // namespace ramet
