#include "rows_by_time.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/sorted_search.h"
#include "base/system/space.h"

namespace ramet {
namespace {

// Calls body with what gives the time at a position; it sets `is_good` to false where the source is
// none, which a file may come to say at any time.
template <typename Body>
void with_times(const EdgeTimes& times,
                const EdgeType& edges,
                int64_t num_sources,
                std::atomic<bool>& is_good,
                Body&& body) {
  if (times.of_edges != nullptr) return body([&](int64_t p) { return times.of_edges[p]; });
  with_ids(edges.indices, [&](auto sources) {
    body([&, sources](int64_t p) {
      const auto source = static_cast<uint64_t>(sources[static_cast<size_t>(p)]);
      if (source < static_cast<uint64_t>(num_sources)) return times.of_sources[source];
      is_good = false;
      return int64_t{0};
    });
  });
}

using TimeKey = std::pair<int64_t, int32_t>;  // of an edge that is sorted: its time and number

// Edges of the longest row.
int64_t longest_row(const EdgeType& edges) {
  const auto indptr = edges.indptr.as<int64_t>();
  int64_t longest = 0;
  for (size_t row = 0; row + 1 < indptr.size(); ++row)
    longest = std::max(longest, indptr[row + 1] - indptr[row]);
  return std::min(longest, edges.num_edges());
}

}  // namespace

std::shared_ptr<const RowsByTime> RowsByTime::make(const EdgeTimes& times,
                                                   const EdgeType& edges,
                                                   int64_t num_sources,
                                                   int threads) {
  constexpr int64_t kRowsAtOnce = 1024;
  const int64_t num_edges = edges.num_edges();
  const int64_t at_once =
      std::min(num_edges, (threads > 0 ? threads : hardware_threads()) * longest_row(edges));
  const int64_t bytes = num_edges * int64_t{sizeof(int32_t)} + at_once * int64_t{sizeof(TimeKey)};
  if (bytes > available_memory().bytes / 8) return nullptr;
  const bool of_edges = times.of_edges != nullptr;
  const auto num_times = static_cast<size_t>(of_edges ? num_edges : num_sources);
  auto made = std::make_shared<RowsByTime>(TimeCodes(std::span(times.data(), num_times)));
  made->entries_ = HugeVector<int32_t>(static_cast<size_t>(num_edges));
  const auto* const indptr = edges.indptr.as<int64_t>().data();
  std::atomic<bool> is_good = true;
  with_times(times, edges, num_sources, is_good, [&](const auto& time_at) {
    parallel_for(edges.indptr.rows() - 1, kRowsAtOnce, threads, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) {
        const int64_t begin = indptr[row], end = indptr[row + 1];
        const bool is_row = 0 <= begin && begin <= end && end <= num_edges &&
                            end - begin <= std::numeric_limits<int32_t>::max();
        if (is_row)
          made->fill({begin, end - begin}, time_at);
        else
          is_good = false;
      }
    });
  });
  return is_good ? made : nullptr;
}

// Codes order nearly all edges. Those of one code are few, and are sorted by their times.
template <typename TimeAt>
void RowsByTime::fill(const Row& row, const TimeAt& time_at) {
  const auto entries =
      std::span(entries_).subspan(static_cast<size_t>(row.begin), static_cast<size_t>(row.degree));
  std::vector<TimeKey> keys;  // a copy, for times may change
  const auto sort_by_time = [&](std::span<int32_t> some) {
    keys.clear();
    keys.reserve(some.size());
    for (const int32_t e : some)
      keys.emplace_back(time_at(row.begin + (is_coded(row) ? e & 0xffff : e)), e);
    std::sort(keys.begin(), keys.end());
    std::transform(keys.begin(), keys.end(), some.begin(),
                   [](const auto& key) { return key.second; });
  };
  if (!is_coded(row)) {
    std::iota(entries.begin(), entries.end(), 0);
    return sort_by_time(entries);
  }
  for (int64_t x = 0; x < row.degree; ++x)
    entries[static_cast<size_t>(x)] = entry(codes_.code(time_at(row.begin + x)), x);
  std::sort(entries.begin(), entries.end());
  for (auto first = entries.begin(); first != entries.end();) {
    const auto is_other = [code = *first >> 16](int32_t e) { return e >> 16 != code; };
    const auto last = std::find_if(first, entries.end(), is_other);
    if (last - first > 1) sort_by_time({first, last});
    first = last;
  }
}

void RowsByTime::find_ends(std::span<const Row> rows,
                           std::span<const int> last,
                           int64_t* ends) const {
  std::vector<SortedSearch> searches(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t begin = rows[i].begin, size = is_coded(rows[i]) ? rows[i].degree : 0;
    searches[i] = {begin, begin + size, entry(last[i] + 1, 0)};
  }
  search_sorted(borrow(std::span<const int32_t>(entries_)), {entry(0, 0), entry(codes_.size(), 0)},
                searches);
  std::transform(searches.begin(), searches.end(), ends,
                 [](const SortedSearch& search) { return search.begin; });
}

}  // namespace ramet
