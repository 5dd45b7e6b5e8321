#include "hottest_rows.h"

#include <algorithm>
#include <numeric>

#include "ramet/pages.h"

namespace ramet {

void count_ids(const Array& ids, std::span<int64_t> counts) {
  constexpr size_t kPiece = size_t{1} << 20;
  with_ids(ids, [&](auto values) {
    for (; !values.empty(); values = values.subspan(std::min(kPiece, values.size()))) {
      const auto piece = values.first(std::min(kPiece, values.size()));
      read_ahead(piece.data(), static_cast<int64_t>(piece.size_bytes()));
      for (const auto id : piece)
        if (static_cast<uint64_t>(id) < counts.size()) ++counts[static_cast<size_t>(id)];
    }
  });
}

void count_distinct_ids(const Array& ids, std::vector<bool>& seen, std::span<int64_t> counts) {
  with_ids(ids, [&](auto values) {
    for (const auto id : values) {
      const auto at = static_cast<size_t>(id);
      if (!seen[at]) ++counts[at];
      seen[at] = true;
    }
    for (const auto id : values)
      seen[static_cast<size_t>(id)] = false;
  });
}

std::vector<int64_t> hottest_rows(int64_t count,
                                  std::span<const int64_t> counts,
                                  std::span<const int64_t> second_counts) {
  std::vector<int64_t> ids(counts.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min(count, std::ssize(counts));
  std::nth_element(ids.begin(), end, ids.end(), [&](int64_t a, int64_t b) {
    const auto at_a = static_cast<size_t>(a), at_b = static_cast<size_t>(b);
    if (counts[at_a] != counts[at_b]) return counts[at_a] > counts[at_b];
    if (!second_counts.empty() && second_counts[at_a] != second_counts[at_b])
      return second_counts[at_a] > second_counts[at_b];
    return a < b;
  });
  ids.erase(end, ids.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace ramet
