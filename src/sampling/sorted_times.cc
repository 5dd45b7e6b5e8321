#include "sorted_times.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/parallel.h"

namespace ramet {

std::shared_ptr<const SortedTimes> SortedTimes::make(const EdgeTimes& times,
                                                     const EdgeType& edges,
                                                     int threads) {
  constexpr int64_t kRowsAtOnce = 4096;
  const auto indptr = edges.indptr.as<int64_t>();
  auto made = std::make_shared<SortedTimes>(SortedTimes{{kLastTime, kFirstTime}});
  std::atomic<bool> sorted = true;
  std::mutex mutex;
  parallel_for(edges.indptr.rows() - 1, kRowsAtOnce, threads, [&](int64_t first, int64_t last) {
    TimeSpan found{kLastTime, kFirstTime};
    for (auto row = static_cast<size_t>(first); row < static_cast<size_t>(last) && sorted; ++row) {
      const int64_t begin = indptr[row], end = indptr[row + 1];
      if (begin == end) continue;
      if (begin < 0 || end < begin || end > edges.num_edges() ||
          !std::is_sorted(times.of_edges + begin, times.of_edges + end)) {
        sorted = false;
      } else {
        found.first = std::min(found.first, times.of_edges[begin]);
        found.last = std::max(found.last, times.of_edges[end - 1]);
      }
    }
    const std::lock_guard lock(mutex);
    made->of_all = {std::min(made->of_all.first, found.first),
                    std::max(made->of_all.last, found.last)};
  });
  return sorted ? made : nullptr;
}

}  // namespace ramet
