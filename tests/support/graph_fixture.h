// Small graphs for tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "ramet/csc.h"
#include "ramet/graph.h"
#include "ramet/random.h"
#include "ramet/store_writer.h"
#include "sampling/node_index.h"

namespace ramet::test {

inline void require_equal(const StoreContents& one, const StoreContents& other) {
  REQUIRE(one.arrays.size() == other.arrays.size());
  for (size_t i = 0; i < one.arrays.size(); ++i) {
    const Array &a = one.arrays[i].second, &b = other.arrays[i].second;
    REQUIRE(one.arrays[i].first == other.arrays[i].first);
    REQUIRE(a.shape == b.shape);
    REQUIRE(std::memcmp(a.data, b.data, static_cast<size_t>(a.bytes())) == 0);
  }
}

struct EdgeList {
  std::vector<int64_t> src, dst;
};

// `num_edges` edges with a keyed pseudo-random source and destination.
inline EdgeList random_edges(int64_t num_src, int64_t num_dst, int64_t num_edges, uint64_t key) {
  EdgeList edges;
  for (int64_t e = 0; e < num_edges; ++e) {
    const uint64_t k = absorb(key, static_cast<uint64_t>(e));
    edges.src.push_back(
        static_cast<int64_t>(uniform_below(absorb(k, 0), static_cast<uint64_t>(num_src))));
    edges.dst.push_back(
        static_cast<int64_t>(uniform_below(absorb(k, 1), static_cast<uint64_t>(num_dst))));
  }
  return edges;
}

inline Csc csc_of(const EdgeList& edges,
                  int64_t num_src,
                  int64_t num_dst,
                  const CscOptions& options = {}) {
  return build_csc(borrow(edges.src), borrow(edges.dst), num_src, num_dst, options);
}

inline std::shared_ptr<const Graph> graph_of(const StoreContents& contents) {
  return Graph::from_store(make_segment(contents));
}

inline void add_edges(StoreContents& contents, const std::string& type, const Csc& csc) {
  contents.arrays.emplace_back("edge/" + type + "/indptr", csc.indptr);
  contents.arrays.emplace_back("edge/" + type + "/indices", csc.indices);
  if (csc.edge_ids.data != nullptr) {
    contents.arrays.emplace_back("edge/" + type + "/edge_ids", csc.edge_ids);
  }
}

// One node type and one edge type.
inline StoreContents one_type(const Csc& csc, int64_t num_nodes) {
  StoreContents contents;
  contents.node_counts["node"] = num_nodes;
  add_edges(contents, "node__to__node", csc);
  return contents;
}

// With a table "feat" whose row v is {v, v + 0.5}.
inline std::shared_ptr<const Graph> make_graph(const EdgeList& edges, int64_t num_nodes) {
  StoreContents contents = one_type(csc_of(edges, num_nodes, num_nodes), num_nodes);
  std::vector<float> features;
  for (int64_t v = 0; v < num_nodes; ++v) {
    features.push_back(static_cast<float>(v));
    features.push_back(static_cast<float>(v) + 0.5F);
  }
  Array table = borrow(features);
  table.shape = {num_nodes, 2};
  contents.arrays.emplace_back("node/node/feat", table);
  return graph_of(contents);
}

inline std::shared_ptr<const Graph> make_graph(int64_t num_nodes, int64_t num_edges, uint64_t key) {
  return make_graph(random_edges(num_nodes, num_nodes, num_edges, key), num_nodes);
}

// Random edges, a table "feat" of zeros and one of edges, "weight", whose row p is 7p.
inline std::shared_ptr<const Graph> make_graph_with_edge_table(int64_t num_nodes,
                                                               int64_t num_edges,
                                                               uint64_t key) {
  const EdgeList edges = random_edges(num_nodes, num_nodes, num_edges, key);
  StoreContents contents = one_type(csc_of(edges, num_nodes, num_nodes), num_nodes);
  std::vector<int64_t> weights;
  for (int64_t p = 0; p < num_edges; ++p)
    weights.push_back(7 * p);
  const std::vector<float> features(static_cast<size_t>(num_nodes));
  contents.arrays.emplace_back("node/node/feat", borrow(features));
  contents.arrays.emplace_back("edge/node__to__node/weight", borrow(weights));
  return graph_of(contents);
}

// How many edges of the first type begin at each node.
inline std::vector<int64_t> out_degrees(const Graph& graph) {
  std::vector<int64_t> degrees(static_cast<size_t>(graph.node_types().front().num_nodes));
  with_ids(graph.edge_types().front().indices, [&](auto sources) {
    for (const auto source : sources)
      ++degrees[static_cast<size_t>(source)];
  });
  return degrees;
}

struct GraphsByTable {
  std::shared_ptr<const Graph> hashed, direct;
};

// The same topology of 40,000 nodes twice; the features of one make a direct table for relabeling
// small beside the graph.
inline GraphsByTable graphs_by_table(int64_t num_edges) {
  constexpr int64_t kNodes = 40'000;
  const Csc csc = csc_of(random_edges(kNodes, kNodes, num_edges, 8), kNodes, kNodes);
  const auto make = [&](int64_t width) {
    StoreContents contents = one_type(csc, kNodes);
    const std::vector<float> features(static_cast<size_t>(kNodes * width));
    Array table = borrow(features);
    table.shape = {kNodes, width};
    contents.arrays.emplace_back("node/node/feat", table);
    return graph_of(contents);
  };
  const GraphsByTable graphs{make(1), make(24 * machine_threads())};
  const NodeRange nodes[] = {{0, kNodes}};
  REQUIRE(direct_table_limit(*graphs.hashed, nodes) < kNodes);
  REQUIRE(direct_table_limit(*graphs.direct, nodes) == kNodes);
  return graphs;
}

}  // namespace ramet::test
