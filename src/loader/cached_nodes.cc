#include "cached_nodes.h"

#include <algorithm>

#include "tables/cache/hot_rows.h"

namespace ramet {
namespace {

std::vector<int64_t> zero_counts(const Graph& graph, int type) {
  const NodeType& nodes = graph.node_types()[static_cast<size_t>(type)];
  return std::vector<int64_t>(static_cast<size_t>(nodes.num_nodes));
}

std::vector<int64_t> out_degrees(const Graph& graph, int type) {
  std::vector<int64_t> degrees = zero_counts(graph, type);
  for (const EdgeType& edges : graph.edge_types())
    if (edges.src == type) count_ids(edges.indices, degrees);
  return degrees;
}

}  // namespace

std::vector<int64_t> nodes_by_degree(const Graph& graph, int type, int64_t count) {
  return hottest_rows(count, out_degrees(graph, type));
}

std::vector<int64_t> nodes_by_presampling(std::shared_ptr<const Graph> graph,
                                          const LoaderOptions& options,
                                          const SeedsOfStep& seeds,
                                          int64_t num_steps,
                                          int type,
                                          int64_t count) {
  std::vector<int64_t> batches = zero_counts(*graph, type);
  NeighborSampler sampler(graph, options.sample);
  for (int64_t step = 0; step < num_steps; ++step) {
    const SeedList of_step = seeds(step);
    const Minibatch batch = sampler.sample(of_step.view(), 0, static_cast<uint64_t>(step));
    count_ids(batch.n_id[static_cast<size_t>(type)], batches);
  }
  return hottest_rows(count, batches, out_degrees(*graph, type));
}

std::vector<int64_t> nodes_to_cache(const std::shared_ptr<const Graph>& graph,
                                    const LoaderOptions& options,
                                    const SeedsOfStep& seeds,
                                    int64_t num_steps,
                                    int type,
                                    CachedNodes wanted) {
  if (wanted.by == CacheBy::kDegree) return nodes_by_degree(*graph, type, wanted.count);
  return nodes_by_presampling(graph, options, seeds, std::min(kPresampledSteps, num_steps), type,
                              wanted.count);
}

}  // namespace ramet
