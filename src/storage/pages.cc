#include "ramet/pages.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

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

PageUse page_use(const Store& store) {
  std::vector<AddressRange> ranges;
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
  use.page_tables = parse_status(read_text("/proc/self/status"), "VmPTE");
  return use;
}

}  // namespace ramet
