// Subgraphs: batches that are subgraphs of the graph, with some of its nodes and all edges among
// them. Which nodes: clusters of a partition (Cluster-GCN), or a sample (GraphSAINT).
// docs/semantics.md, section 26.
//
// Memory: Subgraphs keep the arrays that they were made of. Threads and forks: immutable, so use
// them from any. Failure: options that do not fit are kInvalidArgument, ids that are no nodes
// kOutOfRange, a store whose rows do not fit kCorrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/buffer_pool.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "ramet/walks.h"

namespace ramet {

// What the items of a loader's epoch stand for, where its batches are subgraphs.
class Subgraphs {
 public:
  virtual ~Subgraphs() = default;
  // Of an epoch.
  [[nodiscard]] virtual int64_t num_items() const = 0;
  // The nodes of some items together, by node type, each node once.
  [[nodiscard]] virtual std::vector<std::vector<int64_t>> nodes(std::span<const int64_t> items,
                                                                uint64_t epoch) const = 0;
  // Covers what decides which nodes an item has, beside the graph.
  [[nodiscard]] virtual uint64_t digest() const = 0;
};

// The minibatch that the nodes induce: all of them are seeds, and one block has all edges among
// them, as with Expand::kOnce. No node may be given twice.
[[nodiscard]] Minibatch induced_minibatch(const Graph& graph,
                                          std::span<const Seeds> nodes,
                                          BufferPool& pool);

// The clusters of one node type: cluster c has the nodes ids[offsets[c]] to ids[offsets[c + 1] -
// 1].
struct ClusteredNodes {
  Array offsets;  // int64[clusters + 1]
  Array ids;      // int32 or int64; a node is in one cluster at most
};

// Item c is cluster c (Chiang et al.: "Cluster-GCN: an efficient algorithm for training deep and
// large graph convolutional networks", KDD 2019). By node type, with equally many clusters each. A
// batch has its clusters one after the other.
[[nodiscard]] std::shared_ptr<const Subgraphs> make_clusters(const Graph& graph,
                                                             std::vector<ClusteredNodes> of_types);

// What a subgraph of GraphSAINT is drawn by (Zeng et al.: "GraphSAINT: graph sampling based
// inductive learning method", ICLR 2020): nodes, edges, or the roots of walks.
enum class SaintSampler : uint8_t { kNode, kEdge, kWalk };
[[nodiscard]] SaintSampler parse_saint_sampler(const std::string& name);  // "node", "edge", "walk"

struct SaintOptions {
  SaintSampler sampler = SaintSampler::kWalk;
  int64_t batch_size = 1;   // draws for a subgraph
  int64_t walk_length = 0;  // steps from a root
  int64_t num_steps = 1;    // subgraphs of an epoch
  uint64_t seed = 0;
};

// Item i is the i-th subgraph of the epoch, its nodes by id. Of a graph with one edge type, between
// nodes of one type. outgoing: the same edges, by source; a sample of nodes does not need them.
[[nodiscard]] std::shared_ptr<const Subgraphs> make_saint(std::shared_ptr<const Graph> graph,
                                                          const WalkEdges& outgoing,
                                                          const SaintOptions& options);

// GraphSAINT's normalization: in how many subgraphs each node and each edge was. One thread at a
// time.
class SaintCounts {
 public:
  // `subgraphs`: of make_saint().
  SaintCounts(std::shared_ptr<const Graph> graph, std::shared_ptr<const Subgraphs> subgraphs);

  // Counts the next `count` subgraphs, of which no epoch has one. Returns the number of nodes in
  // all that were counted. `threads`: 0: all. The counts do not depend on it.
  int64_t add(int64_t count, int threads);

  // With K subgraphs, C of which had a node or an edge, or 1 if none had: float32[num_nodes],
  // K / (N C) of each node.
  [[nodiscard]] Array node_norm() const;
  // float32[num_edges], by position: C of the destination / C of the edge.
  [[nodiscard]] Array edge_norm() const;

 private:
  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Subgraphs> subgraphs_;
  int64_t num_subgraphs_ = 0, num_nodes_ = 0;
  std::vector<uint32_t> node_counts_, edge_counts_;
};

}  // namespace ramet
