#include "base/system/space.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <vector>

#include "cgroup.h"
#include "posix.h"
#include "ramet/error.h"

namespace ramet {

namespace {

std::string with_unit(int64_t bytes) {
  const int64_t tenths = bytes / 100'000'000;
  const std::string text = concat(bytes, " bytes");
  if (tenths < 10) return text;
  return concat(text, " (", tenths / 10, ".", tenths % 10, " GB)");
}

[[noreturn]] void fail(int error, const std::string& what, int64_t needed, const Space& space) {
  throw Error(ErrorCode::kNoSpace,
              what + " needs " + with_unit(needed) + ", available are " + with_unit(space.bytes) +
                  " (" + space.limited_by + ")",
              error);
}

// Free for this user; a product that does not fit, as network file systems give, is no limit.
int64_t free_disk(const std::string& folder) {
  struct statvfs status{};
  while (::statvfs(folder.c_str(), &status) != 0)
    if (errno != EINTR) throw_errno(errno, "ask for the free space of", folder);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(status.f_bavail, status.f_frsize, &bytes))
    return std::numeric_limits<int64_t>::max();
  return bytes;
}

// Bytes of the pages from `begin` to `end` that are not in memory.
int64_t absent_bytes(uintptr_t begin, uintptr_t end, uintptr_t page) {
  constexpr uintptr_t kPages = 1 << 14;  // asked about at once
  std::vector<unsigned char> resident(kPages);
  int64_t absent = 0;
  for (; begin < end; begin += kPages * page) {
    const uintptr_t count = std::min(kPages, (end - begin + page - 1) / page);
    if (::mincore(reinterpret_cast<void*>(begin), count * page, resident.data()) != 0) continue;
    const auto in_memory =
        std::count_if(resident.begin(), resident.begin() + static_cast<std::ptrdiff_t>(count),
                      [](unsigned char flags) { return (flags & 1) != 0; });
    absent += (static_cast<int64_t>(count) - in_memory) * static_cast<int64_t>(page);
  }
  return absent;
}

}  // namespace

Space available_memory(const std::string& root) {
  Space space{std::numeric_limits<int64_t>::max(), "no limit is known"};
  std::ifstream meminfo(root + "/proc/meminfo");
  std::string key, unit;
  for (int64_t kilobytes = 0; meminfo >> key >> kilobytes; std::getline(meminfo, unit)) {
    if (key != "MemAvailable:") continue;
    space = {kilobytes * 1024, "MemAvailable"};
    break;  // one of the first lines of many
  }
  const auto cgroup = cgroup_available(root);
  if (cgroup && *cgroup < space.bytes) space = {*cgroup, "the limit of the cgroup"};
  return space;
}

bool is_in_memory(const std::string& folder) {
  struct statfs status{};
  if (::statfs(folder.c_str(), &status) != 0) return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

void require_memory(int64_t needed, const std::string& what, const std::string& root) {
  const Space space = available_memory(root);
  if (needed > space.bytes) fail(ENOMEM, what, needed, space);
}

void require_memory_to_hold(const Array& array, const std::string& what, const std::string& root) {
  if (array.bytes() <= available_memory(root).bytes) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(array.data);
  const uintptr_t end = address + static_cast<uintptr_t>(array.bytes());
  require_memory(absent_bytes(address / page * page, end, page), what, root);
}

void require_disk(int64_t needed, const std::string& what, const std::string& folder) {
  const Space space{free_disk(folder), "free on the file system of " + folder};
  if (needed > space.bytes) fail(ENOSPC, what, needed, space);
  if (is_in_memory(folder)) require_memory(needed, what);
}

}  // namespace ramet
