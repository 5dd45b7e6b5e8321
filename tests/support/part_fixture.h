// Parts of graphs, made in memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ramet/graph.h"
#include "ramet/ownership.h"
#include "ramet/part.h"
#include "ramet/store_writer.h"
#include "ramet/table.h"

namespace ramet::test {

// An owner for each node: a vector, whose entries stay alive with it.
template <typename T>
Array owner_vector(const std::vector<T>& owners) {
  const auto memory = std::make_shared<std::vector<T>>(owners);
  return {.data = memory->data(),
          .dtype = sizeof(T) == 1 ? DType::kUInt8 : DType::kUInt16,
          .shape = {static_cast<int64_t>(owners.size())},
          .owner = memory};
}

// What part `index` of `count` of a graph of one type holds. `owner`: bounds, or a vector.
inline StoreContents part_contents(const Graph& graph,
                                   const Array& owner,
                                   int64_t index,
                                   int64_t count) {
  const bool ranges = owner.dtype == DType::kInt64;
  const auto ownership = ranges ? Ownership::ranges(owner) : Ownership::by_vector(owner, count);
  const OwnedNodes owned = owned_nodes(ownership, index);
  const auto nodes = owned.nodes.as<int64_t>();
  const PartEdges edges = in_edges(graph.edge_types()[0], nodes);
  StoreContents contents;
  contents.part = Part{index, count, graph.fingerprint()};
  contents.node_counts["node"] = graph.node_types()[0].num_nodes;
  contents.arrays = {{"owner/node", owner},
                     {"edge/node__to__node/indptr", edges.indptr},
                     {"edge/node__to__node/indices", edges.indices},
                     {"edge/node__to__node/edge_ids", edges.edge_ids}};
  if (!ranges) contents.arrays.emplace_back("owned/node", owned.bitmap);
  for (const auto& [name, rows] : graph.node_types()[0].tables)
    contents.arrays.emplace_back("node/node/" + name, Table(rows).gather(nodes));
  return contents;
}

inline std::shared_ptr<const Graph> part_of(const Graph& graph,
                                            const Array& owner,
                                            int64_t index,
                                            int64_t count) {
  return graph_of(part_contents(graph, owner, index, count));
}

}  // namespace ramet::test
