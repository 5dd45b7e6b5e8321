#include "node_index.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/parallel.h"

namespace ramet {
namespace {

constexpr int64_t kSmallTableBytes = 64 << 10;
constexpr int64_t kShareOfGraph = 8;
constexpr int64_t kBytesPerNode = sizeof(uint32_t);

// Of the arrays that memory holds.
int64_t bytes_in_memory(const Store& store) {
  int64_t bytes = 0;
  for (const auto& [name, array] : store.arrays())
    if (store.read_by_row().count(name) == 0) bytes += array.bytes();
  return bytes;
}

}  // namespace

int64_t direct_table_limit(const Graph& graph, std::span<const NodeRange> ranges) {
  // Divided, not multiplied: a type without tables has as many nodes as somebody wrote down.
  const int64_t share_bytes = bytes_in_memory(*graph.store()) / kShareOfGraph / machine_threads();
  int64_t left = std::max(kSmallTableBytes, share_bytes) / kBytesPerNode;
  std::vector<int64_t> sizes;
  for (const NodeRange& range : ranges)
    sizes.push_back(range.size());
  std::sort(sizes.begin(), sizes.end());
  // Sizes that are equal are within the limit together or not at all.
  int64_t limit = -1;
  for (auto first = sizes.begin(); first != sizes.end();) {
    const auto end = std::upper_bound(first, sizes.end(), *first);
    for (; first != end; ++first) {
      if (*first > left) return limit;
      left -= *first;
    }
    limit = *std::prev(end);
  }
  return limit;
}

}  // namespace ramet
