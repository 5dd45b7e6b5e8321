#include "row_reads.h"

#include <sys/mman.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "segment.h"

namespace ramet {

namespace {

constexpr int64_t kSmallStore = int64_t{16} << 20;

bool is_table(const std::string& name) {
  const std::string last = name.substr(name.rfind('/') + 1);
  if (name.starts_with("edge/")) return last != "indptr" && last != "indices" && last != "edge_ids";
  return name.starts_with("node/") || name.starts_with("ids/");
}

}  // namespace

std::set<std::string> beyond_memory(const std::map<std::string, Array>& arrays,
                                    const std::function<int64_t()>& available) {
  int64_t bytes = 0, topology = 0;
  std::vector<std::tuple<bool, int64_t, std::string>> given_up_last;
  for (const auto& [name, array] : arrays) {
    bytes += array.bytes();
    if (!is_table(name)) topology += array.bytes();
    if (array.bytes() >= kHugeAlignment)
      given_up_last.emplace_back(is_table(name), array.bytes(), name);
  }
  if (bytes < kSmallStore) return {};
  std::sort(given_up_last.begin(), given_up_last.end());
  const int64_t limit = available();
  if (bytes <= limit) return {};
  const bool all = topology > limit / 2;
  std::set<std::string> names;
  for (; (all || bytes > limit) && !given_up_last.empty(); given_up_last.pop_back()) {
    const auto& [table, size, name] = given_up_last.back();
    names.insert(name);
    bytes -= size;
  }
  return names;
}

// Advice, which a kernel may refuse: rows are as right without.
void advise_row_reads(const Array& array) {
  const auto* const mapping = static_cast<const std::byte*>(array.owner.get());
  const auto* const end = static_cast<const std::byte*>(array.data) + array.bytes();
  advise_row_reads(const_cast<std::byte*>(mapping), end - mapping);
}

void advise_row_reads(std::byte* mapping, int64_t size) {
  ::madvise(mapping, static_cast<size_t>(size), MADV_NOHUGEPAGE);
  ::madvise(mapping, static_cast<size_t>(size), MADV_RANDOM);
}

}  // namespace ramet
