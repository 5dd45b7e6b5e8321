#include "ramet/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/system/space.h"
#include "huge_pages.h"
#include "smaps.h"

namespace ramet {

namespace {

// A kernel says of a file that is not this user's that all of it is in memory: then this bounds
// what is read.
constexpr int64_t kMapAtMost = int64_t{8} << 30;

std::string read_text(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

// The kernel takes at most so much advice at once as the disk takes requests: 128 KiB on any.
void read_ahead(const void* data, int64_t bytes) {
  constexpr int64_t kPiece = int64_t{128} << 10;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const auto address = reinterpret_cast<int64_t>(data);
  const int64_t end = address + bytes;
  for (int64_t at = address / page * page; at < end; at += kPiece)
    ::madvise(reinterpret_cast<void*>(at), static_cast<size_t>(std::min(kPiece, end - at)),
              MADV_WILLNEED);
}

int64_t memory_left() {
  return available_memory().bytes;
}

PageUse page_use(const Store& store) {
  std::vector<Addresses> ranges;
  int64_t room = kMapAtMost;
  for (const auto& [name, array] : store.arrays()) {
    if (array.bytes() == 0) continue;
    const int64_t size = std::min(array.bytes(), room);
    map_resident_pages(array.data, size);
    room -= size;
    const auto begin = reinterpret_cast<uint64_t>(array.data);
    ranges.push_back({begin, begin + static_cast<uint64_t>(array.bytes())});
  }
  PageUse use = parse_smaps(read_text("/proc/self/smaps"), ranges);
  for (const std::string& name : store.read_by_row())
    use.by_row += store.arrays().at(name).bytes();
  use.page_tables = parse_status(read_text("/proc/self/status"), "VmPTE");
  return use;
}

}  // namespace ramet
