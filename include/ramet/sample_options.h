// SampleOptions: all options that affect the sample. A Method is a sampler with its own options;
// docs/semantics.md defines each.
//
// A new method is a struct here, an alternative of Method, and a line in src/sampling/methods.cc.
// Its fields are named once, in its for_each_field(), from which digests and bindings are made: the
// structured binding there does not compile when a field is missing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ramet/graph.h"
#include "ramet/random.h"

namespace ramet {

inline constexpr int64_t kMaxImportanceIterations = 1000;  // importances settle in about ten

// The kind of edge_weights(). q is the probability of an edge, d the in-degree of its destination.
enum class Weights : uint8_t {
  kNormalized,       // 1 / q, divided by their sum over the picks of the destination (Hajek)
  kHorvitzThompson,  // 1 / (d q)
};

// "normalized" or "horvitz-thompson"; any other name is kInvalidArgument.
[[nodiscard]] Weights parse_weights(const std::string& name);

// k of d neighbors, every k-subset equally likely; with `replace`, k independent draws.
struct Uniform {
  static constexpr const char* kName = "uniform";
  bool replace = false;
};

template <typename Body>
void for_each_field(Uniform& method, Body&& body) {
  auto& [replace] = method;
  body("replace", replace);
}

// Layer-neighbor sampling (Balin, Catalyurek: "Layer-Neighbor Sampling: Defusing Neighborhood
// Explosion in GNNs", NeurIPS 2023): k of d in expectation; destinations share the random words of
// their sources, so a hop has fewer distinct sources.
struct Labor {
  static constexpr const char* kName = "labor";
  // LABOR-i: fewer nodes for more work. It looks at all destinations of a hop, so a slice of the
  // seeds does not yield a slice of the blocks. At most kMaxImportanceIterations.
  int64_t iterations = 0;
  bool layer_dependent = false;  // every hop uses the words of the first
  Weights weights = Weights::kNormalized;
  std::string table = {};  // as of Weighted: edges are picked in proportion to it; empty for none
};

template <typename Body>
void for_each_field(Labor& method, Body&& body) {
  auto& [iterations, layer_dependent, weights, table] = method;
  body("iterations", iterations);
  body("layer_dependent", layer_dependent);
  body("weights", weights);
  body("table", table);
}

// Neighbors in proportion to an edge table, float32 or float64, of numbers that are at least 0.
struct Weighted {
  static constexpr const char* kName = "weighted";
  std::string table;  // its name
  bool replace = false;
};

template <typename Body>
void for_each_field(Weighted& method, Body&& body) {
  auto& [table, replace] = method;
  body("table", table);
  body("replace", replace);
}

// A number of nodes, whatever their degrees; needs Expand::kOnce.
struct Budget {
  static constexpr const char* kName = "budget";
  // Absent: so many nodes of each type and hop, drawn by importance, and all edges among the
  // batch's nodes (Hu, Dong, Wang, Sun: "Heterogeneous Graph Transformer", WWW 2020).
  // SampleOptions::fanouts says how many: fanouts[node type][hop], each at least 1. It looks at all
  // nodes of the batch. Else: uniform sampling that ends where a tree has so many nodes, its seed
  // included; needs disjoint.
  std::optional<int64_t> nodes_per_tree = {};
};

template <typename Body>
void for_each_field(Budget& method, Body&& body) {
  auto& [nodes_per_tree] = method;
  body("nodes_per_tree", nodes_per_tree);
}

using Method = std::variant<Uniform, Labor, Weighted, Budget>;

// The edge table that a method draws by; empty where there is none.
[[nodiscard]] std::string weight_table(const Method& method);

// The method with that kName and its default options; any other name is kInvalidArgument.
[[nodiscard]] Method method_named(const std::string& name);

// The destinations of a hop: all nodes found so far, or only the new nodes of the previous hop.
// Then each node is a destination once.
enum class Expand : uint8_t { kEvery, kOnce };

// "every" or "once"; any other name is kInvalidArgument. The others below likewise.
[[nodiscard]] Expand parse_expand(const std::string& name);

// The choice among allowed neighbors: as the method draws, or the latest.
enum class Strategy : uint8_t { kUniform, kLast };
[[nodiscard]] Strategy parse_strategy(const std::string& name);  // "uniform", "last"

// A neighbor's time and the seed's: t <= seed's, t < seed's, t >= seed's, or t > seed's.
enum class Comparison : uint8_t { kAtMost, kBefore, kAtLeast, kAfter };
[[nodiscard]] Comparison parse_comparison(const std::string& name);  // "<=", "<", ">=", ">"

// Only neighbors that existed at the seed's time are drawn, or only those that came after it.
struct Time {
  std::string table;  // int64, of nodes or of edges
  Strategy strategy = Strategy::kUniform;
  int64_t window = -1;  // neighbors at most so far from the seed's time; -1: however far
  Comparison comparison = Comparison::kAtMost;
  bool monotonic = false;  // the comparison holds between consecutive edges of a path, too
};

template <typename Body>
void for_each_field(Time& time, Body&& body) {
  auto& [table, strategy, window, comparison, monotonic] = time;
  body("table", table);
  body("strategy", strategy);
  body("window", window);
  body("comparison", comparison);
  body("monotonic", monotonic);
}

struct SampleOptions {
  // fanouts[edge type][hop], edge types in the order of Graph::edge_types(), hop 0 the seeds' hop.
  // kAllNeighbors takes every neighbor, 0 none. Without hops a batch has its seeds alone.
  std::vector<std::vector<int64_t>> fanouts;
  Method method = {};
  uint64_t seed = 0;
  // kappa: steps of a block of dependent minibatches; 1 makes every step independent.
  int64_t dependent = 1;
  Expand expand = Expand::kEvery;
  bool disjoint = false;  // each seed has a tree of its own, which shares no node with others
  std::optional<Time> time = {};  // needs disjoint
};

// Throws kInvalidArgument unless `options` fit `graph`.
void check(const SampleOptions& options, const Graph& graph);

// Whether fanouts are budgets of node types; see Budget.
[[nodiscard]] bool has_budgets_of_types(const SampleOptions& options);

// Covers every field: equal if two samplers of one graph sample the same.
[[nodiscard]] uint64_t digest(const SampleOptions& options);

}  // namespace ramet
