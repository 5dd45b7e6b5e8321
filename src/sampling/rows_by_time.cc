#include "rows_by_time.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/sorted_search.h"
#include "base/system/space.h"

namespace ramet {
namespace {

// Whether entries can have the numbers of all edges.
bool has_rows(const EdgeType& edges) {
  const auto indptr = edges.indptr.as<int64_t>();
  const auto is_none = [](int64_t begin, int64_t end) {
    return end < begin || end - begin > std::numeric_limits<int32_t>::max();
  };
  return indptr.front() >= 0 && indptr.back() <= edges.num_edges() &&
         std::adjacent_find(indptr.begin(), indptr.end(), is_none) == indptr.end();
}

// Calls body with what gives the time at a position.
template <typename Body>
void with_times(const EdgeTimes& times, const EdgeType& edges, Body&& body) {
  if (times.of_edges != nullptr) return body([&](int64_t p) { return times.of_edges[p]; });
  with_ids(edges.indices, [&](auto sources) {
    body([&, sources](int64_t p) { return times.of_sources[sources[static_cast<size_t>(p)]]; });
  });
}

bool has_sources(const EdgeType& edges, int64_t num_sources) {
  return with_ids(edges.indices, [&](auto sources) {
    return std::all_of(sources.begin(), sources.end(), [&](auto source) {
      return static_cast<uint64_t>(source) < static_cast<uint64_t>(num_sources);
    });
  });
}

}  // namespace

std::shared_ptr<const RowsByTime> RowsByTime::make(const EdgeTimes& times,
                                                   const EdgeType& edges,
                                                   int64_t num_sources,
                                                   int threads) {
  constexpr int64_t kRowsAtOnce = 1024;
  const int64_t num_edges = edges.num_edges();
  const bool fits = num_edges <= available_memory().bytes / 8 / int64_t{sizeof(int32_t)};
  const bool of_edges = times.of_edges != nullptr;
  if (!fits || !has_rows(edges) || (!of_edges && !has_sources(edges, num_sources))) return nullptr;
  const auto num_times = static_cast<size_t>(of_edges ? num_edges : num_sources);
  auto made = std::make_shared<RowsByTime>(TimeCodes(std::span(times.data(), num_times)));
  made->entries_ = HugeVector<int32_t>(static_cast<size_t>(num_edges));
  const auto* const indptr = edges.indptr.as<int64_t>().data();
  with_times(times, edges, [&](const auto& time_at) {
    parallel_for(edges.indptr.rows() - 1, kRowsAtOnce, threads, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        made->fill({indptr[row], indptr[row + 1] - indptr[row]}, time_at);
    });
  });
  return made;
}

// Codes order nearly all edges. Those of one code are few, and are sorted by their times.
template <typename TimeAt>
void RowsByTime::fill(const Row& row, const TimeAt& time_at) {
  const auto entries =
      std::span(entries_).subspan(static_cast<size_t>(row.begin), static_cast<size_t>(row.degree));
  std::vector<std::pair<int64_t, int32_t>> keys;  // a copy, for times may change
  const auto sort_by_time = [&](std::span<int32_t> some) {
    keys.clear();
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
