// Random walks: along a metapath, uniform or by weights, in the order of times, with restarts, and
// of the second order (node2vec). docs/semantics.md, section 22.
//
// Borrows the starts during the call. The result owns its arrays (pooled buffers). Call it from any
// thread. Failure: options that do not fit are kInvalidArgument, starts that are no nodes
// kOutOfRange, a store whose rows do not fit kCorrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "ramet/array.h"
#include "ramet/cuda.h"
#include "ramet/graph.h"

namespace ramet {

// The edges that a step follows: from a row's node to the node that the entry names. Rows of a
// graph lead from destinations to sources; those of a reversed graph lead from sources to
// destinations.
struct WalkEdges {
  std::shared_ptr<const Graph> graph;
  int edge_type = 0;
  // float64 edge table: the sum of the row's weights up to each edge. "": edges have equal weights.
  std::string weight_sums = "";
  // int64 edge table by which rows are sorted. "": edges are there at all times.
  std::string times = "";
};

// The bias of node2vec (Grover, Leskovec: "node2vec: scalable feature learning for networks",
// 2016): a step back weighs 1 / p, one to a neighbor of the node before 1, any other 1 / q. Rows
// are then sorted by the nodes that they name.
struct Node2Vec {
  double p = 1, q = 1;
};

struct WalkOptions {
  int64_t length = 0;  // steps
  double restart = 0;  // probability, before a step, that it leads to the start
  double stop = 0;     // probability, before a step, that the walk ends
  std::optional<Node2Vec> node2vec = std::nullopt;
  bool decreasing = false;  // times do not increase, rather than not decrease
  bool edge_ids = false;
  uint64_t seed = 0;
  int threads = 0;  // 0: all
};

struct Walks {
  Array nodes;     // int64[starts, length + 1], -1 after an end
  Array edge_ids;  // int64[starts, length], -1 where no edge was followed; if asked for
};

// Step s follows metapath[s mod its size]; the edge types chain, and close where the walk is longer
// than the metapath. A walk is a function of the seed, its start, and how many of `starts` before
// it are the same node.
[[nodiscard]] Walks random_walks(std::span<const WalkEdges> metapath,
                                 std::span<const int64_t> starts,
                                 const WalkOptions& options);

// The same walks on the device that has `starts`, int64[n], and `numbers`, int64[n]: how many of
// the starts before each are the same node. `walks` has arrays there for all that is asked for. The
// device reads copies of the edge types' graphs, CudaGraph::create(graph, device, kDevice), which
// take time to make: keep them. All work runs on `stream`, and the call waits for it. Throws what
// random_walks() and CudaGraph::create() throw, and then `walks` may be written in part.
void random_walks_on_device(std::span<const WalkEdges> metapath,
                            const Array& starts,
                            const Array& numbers,
                            const WalkOptions& options,
                            const Walks& walks,
                            CudaStreamHandle stream);

// float64[num_edges]: the sum of the row's weights up to each edge, in the order of the row.
// kInvalidArgument for arrays that do not fit, and for what is no weight (section 13).
[[nodiscard]] Array weight_sums(const Array& indptr, const Array& weights, int threads = 0);

struct Visited {
  Array nodes;   // int64[seeds, count], most visits first, then by id; -1 where there are no more
  Array visits;  // int64[seeds, count]; 0 where there are no more
};

// The nodes that the walks from each seed visited most, but for the seed itself. walks:
// int64[seeds * walks per seed, length + 1], those of a seed one after the other. Counts the
// entries stride, 2 stride, ... of a walk. kInvalidArgument for shapes that do not fit.
[[nodiscard]] Visited most_visited(
    const Array& walks, int64_t walks_per_seed, int64_t stride, int64_t count, int threads = 0);

struct PprOptions {
  int64_t count = 1;      // neighbors of a seed
  double alpha = 0.15;    // probability to go back to the seed
  double epsilon = 1e-4;  // mass that may stay behind at a node, per edge
  int threads = 0;        // 0: all
};

struct PprNeighbors {
  Array nodes;   // int64[seeds, count], highest score first, then by id; -1 where there are no more
  Array scores;  // float64[seeds, count]; 0 where there are no more
};

// The nodes of highest personalized PageRank, but for the seed itself. `walked` has no times, and
// edges between nodes of one type.
[[nodiscard]] PprNeighbors ppr_neighbors(const WalkEdges& walked,
                                         std::span<const int64_t> seeds,
                                         const PprOptions& options);

}  // namespace ramet
