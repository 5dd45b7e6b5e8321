#include "edge_finder.h"

#include <atomic>

#include "base/parallel.h"

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
