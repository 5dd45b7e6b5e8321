// Neighbor sampling: NeighborSampler turns seeds into a Minibatch, the blocks of one step. The
// result is a pure function of (seed, epoch, step, hop, edge type, node), except for LABOR-i.
// docs/semantics.md defines the function.
//
// A NeighborSampler keeps scratch memory between calls, so only one thread at a time may use it;
// make one per thread. Making one is cheap: samplers recycle scratch memory. The Minibatch owns its
// arrays (pooled buffers) and may outlive the sampler. Failure: bad options are kInvalidArgument,
// bad seeds and excluded edges kOutOfRange, a store whose rows do not fit kCorrupt, each with
// value, bound and location. The sampler stays usable.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/exchange.h"
#include "ramet/graph.h"
#include "ramet/sample_options.h"

namespace ramet {

// One edge type of one hop: a CSC over the destinations, in local ids.
struct Relation {
  int edge_type = 0;  // position in Graph::edge_types()
  Array indptr;       // int64[num_dst + 1]
  Array indices;      // int32[num_edges], positions in the source type's n_id
  Array position;     // [num_edges], positions in the edge type's CSC: int32 where they fit, else
                      // int64
  Array edge_weight;  // float32[num_edges]; without data where each is 1 / edges of its destination
};

// One hop, bipartite: messages go from the first num_src[t] nodes of type t to num_dst[t] of them,
// from first_dst[t] on. With Expand::kEvery that is 0: destinations are a prefix of the sources.
struct Block {
  std::vector<int64_t> num_src, first_dst, num_dst;  // by node type
  std::vector<Relation> relations;     // one per edge type, in the order of their names
  std::vector<ExchangePlan> exchange;  // by node type, where ranks cooperate; else empty
};

// Seeds of one node type, in any order, repeats allowed.
struct Seeds {
  int type = 0;
  std::span<const int64_t> ids;
  // With SampleOptions::time: the time of each seed, or the first and the last time that each
  // allows. Empty: the times of their nodes.
  std::span<const int64_t> times = {};
};

// In-edges of one type that no hop draws: positions in its CSC, ascending, each once.
struct ExcludedEdges {
  int edge_type = 0;
  std::span<const int64_t> positions;
};

// The seeds of a node type in a minibatch are n_id[type][0 .. count).
struct SeedCount {
  int type = 0;
  int64_t count = 0;
  friend bool operator==(const SeedCount&, const SeedCount&) = default;
};

struct Minibatch {
  std::vector<SeedCount> seeds;  // in the order in which the types were given
  int64_t num_seeds = 0;         // of all types; seed i is the i-th, counted type after type
  std::vector<Array> n_id;       // int64, by node type: ids of every node in the batch
  std::vector<Block> blocks;     // farthest hop first, the order in which a model runs its layers
  bool merged = false;           // Expand::kOnce: all hops together are one graph
  bool induced = false;          // merged, with all edges among the nodes, whatever their hops
  // int64, by node type: the position of the seed in whose tree each node is. Empty unless
  // disjoint.
  std::vector<Array> trees;
  // By node type, where cooperating ranks made it with Expand::kOnce: sources of relations are
  // positions among this rank's nodes, n_id, and the rows that are pulled. Else empty.
  std::vector<ExchangePlan> merged_exchange;
  // By node type, where cooperating ranks asked for seeds that others may own: how the rows of the
  // seeds, after the last layer, come to the ranks that asked. Else empty.
  std::vector<ExchangePlan> seed_exchange;
  // int64[num_seeds], or [num_seeds, 2] where seeds were given two times each; in host memory.
  // Without data unless SampleOptions::time.
  Array seed_times;
};

// Calls body(array) for every array of a minibatch, const or not: to move, count or free all
// arrays. A structured binding does not compile when an array is missing.
template <typename AnyMinibatch, typename Body>
void for_each_array(AnyMinibatch& minibatch, Body&& body) {
  const auto each_of = [&](auto& plans) {
    for (auto& plan : plans) {
      body(plan.send_rows);
      body(plan.source_ids);
    }
  };
  for (auto& ids : minibatch.n_id)
    body(ids);
  for (auto& trees : minibatch.trees)
    body(trees);
  for (auto& block : minibatch.blocks) {
    for (auto& relation : block.relations) {
      auto& [edge_type, indptr, indices, position, edge_weight] = relation;
      body(indptr);
      body(indices);
      body(position);
      body(edge_weight);
    }
    each_of(block.exchange);
  }
  each_of(minibatch.merged_exchange);
  each_of(minibatch.seed_exchange);
}

class NeighborSampler {
 public:
  // `pool` provides the arrays of minibatches; default: the pool of the process. `threads`: the
  // maximum that work on one minibatch (for latency); 1 is best for throughput.
  NeighborSampler(const std::shared_ptr<const Graph>& graph,
                  SampleOptions options,
                  std::shared_ptr<BufferPool> pool = nullptr,
                  int threads = 1);
  ~NeighborSampler();

  // `seeds`: of one or several node types, once each. `stop`, if given, is checked between hops and
  // iterations; once it is set, the result is meaningless. `excluded`: of some edge types, once
  // each; meant to be few, some thousands.
  [[nodiscard]] Minibatch sample(std::span<const Seeds> seeds,
                                 uint64_t epoch,
                                 uint64_t step,
                                 const std::atomic<bool>* stop = nullptr,
                                 std::span<const ExcludedEdges> excluded = {});
  [[nodiscard]] Minibatch sample(const Seeds& seeds,
                                 uint64_t epoch,
                                 uint64_t step,
                                 const std::atomic<bool>* stop = nullptr) {
    return sample(std::span(&seeds, 1), epoch, step, stop);
  }

 private:
  class Engine;
  template <typename Id>
  class EngineFor;
  template <typename Id>
  class BudgetEngine;

  std::unique_ptr<Engine> engine_;
};

// All of these are for relations in host memory; for a device see cuda_sampler.h. A caller may have
// written to the arrays: invalid offsets are kInvalidArgument, invalid positions kOutOfRange.
//
// The rows of per-edge tables that belong to the edges of a relation: int64[num_edges].
[[nodiscard]] Array positions(const Relation& relation);
// The user's ids of the edges of a relation: int64[num_edges].
[[nodiscard]] Array edge_ids(const Graph& graph, const Relation& relation);
// Whether the sampler set weights of edges; else each is 1 / edges of its destination.
[[nodiscard]] bool has_weights(const Block& block);
// float32[num_edges], by Labor::weights. The sum of weight times source over a
// destination's edges estimates the mean over all its in-neighbors; docs/semantics.md, section 8.
[[nodiscard]] Array edge_weights(const Relation& relation);
// int64[2, num_edges]: sources above destinations, local ids, as PyG has it. Destinations count
// from the block's first_dst.
[[nodiscard]] Array edge_index(const Relation& relation);

// The number of seeds of a type.
[[nodiscard]] int64_t num_seeds(const Minibatch& batch, size_t node_type);
// The number of seeds of a type, and then of new nodes of each hop, the seeds' hop first: the order
// of n_id.
[[nodiscard]] std::vector<int64_t> num_sampled_nodes(const Minibatch& batch, size_t node_type);
// The edges of a type of each hop, the seeds' hop first.
[[nodiscard]] std::vector<int64_t> num_sampled_edges(const Minibatch& batch, size_t edge_type);

// int64, by node type: after how many hops each node was found, 0 for seeds. kInvalidArgument for a
// batch that is not merged.
[[nodiscard]] std::vector<Array> hops_of_nodes(const Minibatch& batch);
// int64, by node type: the node whose neighbor each was when it was found, -1 for seeds. Its number
// counts the nodes of all types, type after type in the order of n_id. kInvalidArgument for a batch
// that is not merged, or induced: nodes of that have no parent. The same where ranks cooperate: the
// parent may be of another.
[[nodiscard]] std::vector<Array> parents_of_nodes(const Graph& graph, const Minibatch& batch);

// The same of all hops of a minibatch, the seeds' hop first, for one edge type: with Expand::kOnce
// they are one graph. Local ids are positions in n_id.
[[nodiscard]] Array merged_positions(const Minibatch& batch, int edge_type);
[[nodiscard]] Array merged_edge_ids(const Graph& graph, const Minibatch& batch, int edge_type);
[[nodiscard]] Array merged_edge_weights(const Minibatch& batch, int edge_type);
[[nodiscard]] Array merged_edge_index(const Graph& graph, const Minibatch& batch, int edge_type);

}  // namespace ramet
