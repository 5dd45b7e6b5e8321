// Of each node of a merged minibatch: how far it is from its seed, and who found it.
#include <algorithm>

#include "ramet/error.h"
#include "ramet/sampler.h"
#include "sampling/edges_of.h"

namespace ramet {
namespace {

std::vector<Array> int64_like(const Minibatch& batch) {
  std::vector<Array> result;
  for (const Array& ids : batch.n_id)
    result.push_back(BufferPool::shared()->allocate_array(DType::kInt64, ids.shape));
  return result;
}

}  // namespace

std::vector<Array> hops_of_nodes(const Minibatch& batch) {
  if (!batch.merged) throw_invalid("hops of nodes are for minibatches with expand = 'once'");
  std::vector<Array> hops = int64_like(batch);
  for (size_t t = 0; t < hops.size(); ++t) {
    auto* out = static_cast<int64_t*>(hops[t].data);
    int64_t hop = 0;
    for (const int64_t count : num_sampled_nodes(batch, t))
      out = std::fill_n(out, count, hop++);
  }
  return hops;
}

// A node's first edge, in the order in which edges were drawn, is the one that found it.
std::vector<Array> parents_of_nodes(const Graph& graph, const Minibatch& batch) {
  if (!batch.merged || batch.induced)
    throw_invalid(
        "nodes have parents where each hop draws for the nodes that the hop before found");
  if (!batch.merged_exchange.empty())
    throw_invalid("where ranks cooperate, the parent of a node may be of another rank");
  constexpr int64_t kNone = -1;
  std::vector<Array> parents = int64_like(batch);
  std::vector<int64_t> first_of_type;
  int64_t num_nodes = 0;
  for (const Array& of_type : parents) {
    std::fill_n(static_cast<int64_t*>(of_type.data), of_type.rows(), kNone);
    first_of_type.push_back(num_nodes);
    num_nodes += of_type.rows();
  }
  for (auto block = batch.blocks.rbegin(); block != batch.blocks.rend(); ++block) {
    for (const Relation& relation : block->relations) {
      const EdgeType& edges = graph.edge_types()[static_cast<size_t>(relation.edge_type)];
      const auto src = static_cast<size_t>(edges.src), dst = static_cast<size_t>(edges.dst);
      auto* const parent = static_cast<int64_t*>(parents[src].data);
      const int64_t num_seeds = ramet::num_seeds(batch, src);
      const auto sources = relation.indices.as<int32_t>();
      const int64_t first = first_of_type[dst] + block->first_dst[dst];
      for_each_destination(relation, [&](size_t i, int64_t begin, int64_t end) {
        for (int64_t e = begin; e < end; ++e) {
          const int64_t source = sources[static_cast<size_t>(e)];
          require_index(source, parents[src].rows(), "a source");
          if (source >= num_seeds && parent[source] == kNone)
            parent[source] = first + static_cast<int64_t>(i);
        }
      });
    }
  }
  return parents;
}

}  // namespace ramet
