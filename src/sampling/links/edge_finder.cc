#include "edge_finder.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"
#include "ramet/negatives.h"
#include "sampling/rows.h"

namespace ramet {
namespace {

// Whether `holds`(row's number, its first and last source) of any row.
template <typename Holds>
bool any_row(const EdgeType& edges, int threads, Holds&& holds) {
  constexpr int64_t kRowsAtOnce = 1 << 14;
  const int64_t* const indptr = edges.indptr.as<int64_t>().data();
  std::atomic<bool> found{false};
  parallel_for(edges.indptr.rows() - 1, kRowsAtOnce, threads, [&](int64_t begin, int64_t end) {
    with_ids(edges.indices, [&](auto ids) {
      for (int64_t v = begin; v < end && !found.load(std::memory_order_relaxed); ++v) {
        const Row row = read_row(edges, indptr, v);
        const auto* const first = ids.data() + row.begin;
        if (holds(v, first, first + row.degree)) found.store(true);
      }
    });
  });
  return found.load();
}

}  // namespace

std::vector<SortedSearch> searches_of_rows(const EdgeType& edges,
                                           std::span<const int64_t> rows,
                                           std::span<const int64_t> wanted) {
  std::vector<SortedSearch> searches;
  searches.reserve(rows.size());
  read_rows(edges, rows, 0, [&](int64_t i, const Row& row) {
    searches.push_back({row.begin, row.begin + row.degree, wanted[static_cast<size_t>(i)]});
  });
  return searches;
}

EdgeFinder::EdgeFinder(const Graph& graph, int edge_type)
    : edges_(graph.edge_types()[static_cast<size_t>(edge_type)]),
      rows_(graph.node_types()[static_cast<size_t>(edges_.dst)].rows),
      num_sources_(graph.node_types()[static_cast<size_t>(edges_.src)].num_nodes),
      sorted_(rows_are_sorted(edges_)) {}

void EdgeFinder::find(std::span<const int64_t> sources,
                      std::span<const int64_t> destinations,
                      std::vector<int64_t>& positions) const {
  std::vector<int64_t> rows, wanted;
  for (size_t i = 0; i < sources.size(); ++i) {
    const int64_t row = rows_.row(destinations[i]);
    if (row < 0) continue;
    rows.push_back(row);
    wanted.push_back(sources[i]);
  }
  std::vector<SortedSearch> searches = searches_of_rows(edges_, rows, wanted);
  if (sorted_) search_sorted(edges_.indices, {0, num_sources_}, searches);
  with_ids(edges_.indices, [&](auto ids) {
    for (const auto& [begin, end, source] : searches) {
      for (int64_t position = begin; position < end; ++position) {
        if (ids[static_cast<size_t>(position)] == source)
          positions.push_back(position);
        else if (sorted_)
          break;
      }
    }
  });
}

bool rows_are_sorted(const EdgeType& edges, int threads) {
  return !any_row(edges, threads, [](int64_t, const auto* begin, const auto* end) {
    return !std::is_sorted(begin, end);
  });
}

bool has_loops(const EdgeType& edges, int threads) {
  return any_row(edges, threads, [](int64_t v, const auto* begin, const auto* end) {
    return std::find(begin, end, v) != end;
  });
}

}  // namespace ramet
