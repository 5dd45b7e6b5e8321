// The nodes that walks visited most: a seed's visits are sorted, and runs of a node are counted. A
// seed has some hundred visits, which a sort handles in the first cache.
#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "ramet/buffer_pool.h"
#include "ramet/error.h"
#include "ramet/walks.h"

namespace ramet {
namespace {

constexpr int64_t kCountedSeeds = 64;

struct Count {
  int64_t node, visits;
};

// Clears `visits`.
void count_runs(std::vector<int64_t>& visits, std::vector<Count>& counts) {
  std::sort(visits.begin(), visits.end());
  counts.clear();
  for (const int64_t node : visits) {
    if (counts.empty() || counts.back().node != node) counts.push_back({node, 0});
    ++counts.back().visits;
  }
  visits.clear();
}

}  // namespace

Visited most_visited(
    const Array& walks, int64_t walks_per_seed, int64_t stride, int64_t count, int threads) {
  if (walks.shape.size() != 2 || walks_per_seed < 1 || walks.rows() % walks_per_seed != 0)
    throw_invalid("walks of ", walks.rows(), " rows are not ", walks_per_seed, " for each seed");
  if (stride < 1 || count < 1)
    throw_invalid("stride is ", stride, " and count ", count, "; both are 1 or more");
  const int64_t seeds = walks.rows() / walks_per_seed, width = walks.shape[1];
  const auto pool = BufferPool::shared();
  Visited visited{pool->allocate_array(DType::kInt64, {seeds, count}),
                  pool->allocate_array(DType::kInt64, {seeds, count})};
  const int64_t* entries = walks.as<int64_t>().data();
  parallel_for(seeds, kCountedSeeds, threads, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> visits;
    std::vector<Count> counts;
    for (int64_t seed = begin; seed < end; ++seed) {
      const int64_t* rows = entries + seed * walks_per_seed * width;
      for (int64_t walk = 0; walk < walks_per_seed; ++walk) {
        for (int64_t step = stride; step < width; step += stride) {
          const int64_t node = rows[walk * width + step];
          if (node >= 0 && node != rows[0]) visits.push_back(node);
        }
      }
      count_runs(visits, counts);
      const auto kept = std::min<int64_t>(count, std::ssize(counts));
      std::partial_sort(counts.begin(), counts.begin() + kept, counts.end(),
                        [](const Count& one, const Count& other) {
                          return one.visits != other.visits ? one.visits > other.visits
                                                            : one.node < other.node;
                        });
      auto* nodes = static_cast<int64_t*>(visited.nodes.data) + seed * count;
      auto* numbers = static_cast<int64_t*>(visited.visits.data) + seed * count;
      for (int64_t i = 0; i < count; ++i) {
        nodes[i] = i < kept ? counts[static_cast<size_t>(i)].node : -1;
        numbers[i] = i < kept ? counts[static_cast<size_t>(i)].visits : 0;
      }
    }
  });
  return visited;
}

}  // namespace ramet
