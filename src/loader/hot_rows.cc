#include "hot_rows.h"

#include <algorithm>
#include <numeric>

namespace ramet {
namespace {

std::vector<int64_t> out_degrees(const Graph& graph, int type) {
  const auto num_nodes =
      static_cast<uint64_t>(graph.node_types()[static_cast<size_t>(type)].num_nodes);
  std::vector<int64_t> degrees(num_nodes);
  for (const EdgeType& edges : graph.edge_types()) {
    if (edges.src != type) continue;
    with_ids(edges.indices, [&](auto sources) {
      for (const auto source : sources)
        if (static_cast<uint64_t>(source) < num_nodes) ++degrees[static_cast<size_t>(source)];
    });
  }
  return degrees;
}

// The `count` ids that `is_hotter` puts first, ascending.
template <typename Order>
std::vector<int64_t> hottest(size_t num_nodes, int64_t count, const Order& is_hotter) {
  std::vector<int64_t> ids(num_nodes);
  std::iota(ids.begin(), ids.end(), 0);
  const auto end = ids.begin() + std::min<int64_t>(count, static_cast<int64_t>(num_nodes));
  std::nth_element(ids.begin(), end, ids.end(), is_hotter);
  ids.erase(end, ids.end());
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<int32_t> batches_with(const NeighborLoader& loader, int type, int64_t steps) {
  const Graph& graph = *loader.graph();
  const auto& nodes = graph.node_types()[static_cast<size_t>(type)];
  std::vector<int32_t> counts(static_cast<size_t>(nodes.num_nodes));
  NeighborSampler sampler(loader.graph(), loader.options().sample);
  for (int64_t step = 0; step < std::min(steps, loader.num_steps()); ++step) {
    const Minibatch batch = sampler.sample(loader.options().seed_type, loader.seeds(0, step), 0,
                                           static_cast<uint64_t>(step));
    for (const int64_t node : batch.n_id[static_cast<size_t>(type)].as<int64_t>())
      ++counts[static_cast<size_t>(node)];
  }
  return counts;
}

}  // namespace

std::vector<int64_t> rows_by_degree(const Graph& graph, int type, int64_t count) {
  const std::vector<int64_t> degrees = out_degrees(graph, type);
  return hottest(degrees.size(), count, [&](int64_t a, int64_t b) {
    const int64_t of_a = degrees[static_cast<size_t>(a)], of_b = degrees[static_cast<size_t>(b)];
    return of_a != of_b ? of_a > of_b : a < b;
  });
}

std::vector<int64_t> rows_by_presampling(const NeighborLoader& loader,
                                         int type,
                                         int64_t count,
                                         int64_t steps) {
  const std::vector<int32_t> batches = batches_with(loader, type, steps);
  const std::vector<int64_t> degrees = out_degrees(*loader.graph(), type);
  return hottest(degrees.size(), count, [&](int64_t a, int64_t b) {
    const auto at_a = static_cast<size_t>(a), at_b = static_cast<size_t>(b);
    if (batches[at_a] != batches[at_b]) return batches[at_a] > batches[at_b];
    return degrees[at_a] != degrees[at_b] ? degrees[at_a] > degrees[at_b] : a < b;
  });
}

}  // namespace ramet
