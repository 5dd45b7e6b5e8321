// Negatives: pairs of nodes that are no edges, for training on links. docs/semantics.md,
// section 23.
//
// Borrows the pairs during the call. The result owns its arrays (pooled buffers). Call it from any
// thread. Failure: options that do not fit are kInvalidArgument, nodes out of range kOutOfRange, a
// node without any negative kNotFound, a store whose rows do not fit kCorrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/graph.h"

namespace ramet {

// Edges to look pairs up in. Each row is sorted by the nodes that it names.
struct PairRows {
  std::shared_ptr<const Graph> graph;
  int edge_type = 0;
  // Rows are those of a pair's sources, and name destinations; else the other way round, as in the
  // CSC of the edge type.
  bool by_source = false;
  // int64 edge table: an edge after a pair's time is none. "": edges are there at all times.
  std::string times = "";
};

// Which end of a pair a negative replaces. kBoth: its draws 0, 2, ... the destination, the others
// the source. kPair: a negative takes two draws. The first is its source, whatever the edges; the
// second its destination, with that source.
enum class Corrupt : uint8_t { kDestination, kSource, kBoth, kPair };

// "destination", "source", "both" or "pair"; any other name is kInvalidArgument.
[[nodiscard]] Corrupt parse_corrupt(const std::string& name);
// Whether draw number `draw` of a pair replaces its source.
[[nodiscard]] constexpr bool replaces_source(Corrupt corrupt, int64_t draw) {
  if (corrupt == Corrupt::kPair) return draw % 2 == 0;
  return corrupt == Corrupt::kSource || (corrupt == Corrupt::kBoth && draw % 2 == 1);
}
// How many draws a negative takes.
[[nodiscard]] constexpr int64_t draws_each(Corrupt corrupt) {
  return corrupt == Corrupt::kPair ? 2 : 1;
}

// What a draw gives whose candidates are all rejected: an error, a candidate that exists in time
// although it makes an edge, or kNoNegative.
enum class WhenNone : uint8_t { kError, kEdge, kDrop };
inline constexpr int64_t kNoNegative = -1;

// "error", "edge" or "drop"; any other name is kInvalidArgument.
[[nodiscard]] WhenNone parse_when_none(const std::string& name);

// Nodes that may take the place of an end.
struct Candidates {
  int64_t num_nodes = 0;
  Array weight_sums = {};  // float64[num_nodes]: sums of weights up to each node; or all alike
  Array created = {};      // int64[num_nodes]: a node is none before this time; or at all times
  Array among = {};        // int64: these alone, each as often as it is here; or all nodes
  // Rows of the ends that are kept, in the order of times, which name the nodes that these had
  // edges with, once each. Those before the pair's time alone, and an edge at another time does not
  // reject. Or all nodes; also for a pair without such a node.
  std::optional<PairRows> past = {};
};

struct NegativeOptions {
  int64_t amount = 1;  // draws of each pair
  Corrupt corrupt = Corrupt::kDestination;
  Candidates destinations = {}, sources = {};
  std::vector<PairRows> edges = {};  // no negative is one of these
  bool loops = true;                 // a pair of a node with itself may be a negative
  WhenNone when_none = WhenNone::kError;
  uint64_t seed = 0, epoch = 0;
  int threads = 0;  // 0: all
};

struct Pairs {
  std::span<const int64_t> sources, destinations;
  std::span<const int64_t> ids;         // what words are drawn by
  std::span<const int64_t> times = {};  // or none
};

// int64[pairs, amount]: the node that replaces an end of the pair, or kNoNegative.
[[nodiscard]] Array draw_negatives(const Pairs& pairs, const NegativeOptions& options);

// bool[pairs]: which of them are edges, at their times.
[[nodiscard]] Array are_edges(const Pairs& pairs, std::span<const PairRows> edges, int threads = 0);

// Whether each row's sources ascend. Reads every edge once.
[[nodiscard]] bool rows_are_sorted(const EdgeType& edges, int threads = 0);

// Whether an edge connects a node with itself; of an edge type from a node type to itself. Reads
// every edge once, at most.
[[nodiscard]] bool has_loops(const EdgeType& edges, int threads = 0);

}  // namespace ramet
