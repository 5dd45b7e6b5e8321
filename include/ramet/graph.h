// Graph: the read-only view of a store as node types, edge types, tables and splits. Per edge type
// a CSC: the in-neighbors of node v, its message sources, are indices[indptr[v] .. indptr[v+1]). A
// homogeneous graph has one node type and one edge type. A part of a graph (docs/format.md, section
// 7) has only the rows and in-edges of its own nodes; ids are those of the whole graph.
//
// Memory: an immutable value over the Store's arrays, which it keeps alive; cheap to copy. Threads
// and forks: use it from any. Failure: from_store() throws kCorrupt where shapes contradict each
// other, without work per edge. find_faults() checks every edge; `ramet verify` runs it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ramet/array.h"
#include "ramet/derived_arrays.h"
#include "ramet/node_ids.h"
#include "ramet/node_rows.h"
#include "ramet/progress.h"
#include "ramet/store.h"

namespace ramet {

// The default names of a homogeneous graph.
inline constexpr const char* kDefaultNodeType = "node";
inline constexpr const char* kDefaultRelation = "to";

struct EdgeTypeName {
  std::string src, relation, dst;
  // "paper__cites__paper": folder name, sort order and random key of the edge type.
  [[nodiscard]] std::string encoded() const;
  [[nodiscard]] static EdgeTypeName decode(const std::string& encoded);
};

struct NodeType {
  std::string name;                          // as the user gave it
  int64_t num_nodes = 0;                     // of the whole graph: ids are below it
  int64_t num_rows = 0;                      // nodes that have rows here: all, or those of the part
  NodeRows rows = {};                        // which row is a node's
  Array owner = {};                          // of a part: who owns each node; else without data
  std::map<std::string, Array> tables = {};  // num_rows rows each
  std::map<std::string, Array> scales = {};  // of quantized tables (scale.h), by name of the table
  std::optional<NodeIds> ids = {};  // users' ids, of all nodes also in a part; else positions
};

struct EdgeType {
  EdgeTypeName name;
  std::string encoded;
  uint64_t name_hash = 0;  // hash_name(encoded)
  int src = 0, dst = 0;    // positions in Graph::node_types()
  Array indptr;            // int64[rows of the destination type + 1]
  Array indices;           // int32 or int64[num_edges], ids of source nodes
  Array edge_ids;          // int32 or int64[num_edges]; no rows where the id is the position, which
                           // is so in whole stores alone
  std::string indptr_location, indices_location;  // how errors name these files
  std::map<std::string, Array> tables;            // num_edges rows each, in CSC order
  std::map<std::string, Array> scales;            // of quantized tables, by name of the table
  // The int64 table, of these edges or of their sources, by which each row is said to be sorted, as
  // the name of an array of the store; or "".
  std::string sorted_by = {};
  // The position in Graph::edge_types() of the type that has the reverses of these edges, or -1.
  // The store names it, or else it is called "rev_" and this relation, or the other way round. The
  // reverses of an edge are the edges from its destination to its source.
  int reverse = -1;
  // Of a type made undirected, which is its own reverse type, whose edge ids are kept: the number
  // of edges that the writer was given. The id of each is below it, and a reverse that was added
  // has the id of its edge plus it. 0: none of these.
  int64_t num_input_edges = 0;
  bool read_by_row = false;  // memory could not hold `indices` when the store was opened
  [[nodiscard]] int64_t num_edges() const { return indices.rows(); }
  [[nodiscard]] bool has_edge_ids() const { return edge_ids.data != nullptr; }
};

class Graph {
 public:
  [[nodiscard]] static std::shared_ptr<const Graph> from_store(std::shared_ptr<const Store> store);

  // Sorted by encoded name.
  [[nodiscard]] const std::vector<NodeType>& node_types() const { return node_types_; }
  [[nodiscard]] const std::vector<EdgeType>& edge_types() const { return edge_types_; }
  // splits()[name][node type name]: int32 or int64 node ids.
  [[nodiscard]] const std::map<std::string, std::map<std::string, Array>>& splits() const {
    return splits_;
  }
  // edge_splits()[name][encoded edge type]: int32 or int64 ids of edges, as EdgeType::edge_ids has
  // them.
  [[nodiscard]] const std::map<std::string, std::map<std::string, Array>>& edge_splits() const {
    return edge_splits_;
  }
  // By encoded edge type, where the store has its edges by source, too: a graph with these alone,
  // as edges from destination to source, whose rows are sorted by destination.
  [[nodiscard]] const std::map<std::string, std::shared_ptr<const Graph>>& out_edges() const {
    return out_edges_;
  }
  [[nodiscard]] const std::shared_ptr<const Store>& store() const { return store_; }
  // The number of a part of a graph; nullopt for a whole graph.
  [[nodiscard]] const std::optional<Part>& part() const { return store_->part(); }
  // What samplers make of the arrays. Copies of the graph share it.
  [[nodiscard]] DerivedArrays& derived() const { return *derived_; }

  // Position of a type by name; kNotFound lists the existing names.
  [[nodiscard]] int node_type(const std::string& name) const;
  [[nodiscard]] int edge_type(const EdgeTypeName& name) const;

  // A digest of types, shapes, splits and evenly spaced entries of the topology. Equal for the same
  // graph in a folder and in memory, different for each part of it. Not cryptographic. Reads a few
  // thousand entries.
  [[nodiscard]] uint64_t fingerprint() const;
  // The fingerprint of the whole graph, also for a part.
  [[nodiscard]] uint64_t whole_fingerprint() const;

 private:
  void read_out_edges();

  std::shared_ptr<const Store> store_;
  std::shared_ptr<DerivedArrays> derived_ = std::make_shared<DerivedArrays>();
  std::vector<NodeType> node_types_;
  std::vector<EdgeType> edge_types_;
  std::map<std::string, std::map<std::string, Array>> splits_, edge_splits_;
  std::map<std::string, std::shared_ptr<const Graph>> out_edges_;
};

// Reads every entry: indptr monotonic from 0 to the number of edges, ids within their types, split
// ids in range, edge ids distinct and in range, rows sorted that are said to be, scales finite and
// not negative, users' ids distinct, in order and UTF-8. Gives a sentence for each fault, with
// file, position and value: the first 20 of an array, and the number of the rest. They do not
// depend on threads. progress: bytes.
[[nodiscard]] std::vector<std::string> find_faults(const Graph& graph,
                                                   int threads = 0,
                                                   const Progress& progress = {});

// Throws the first fault as kCorrupt.
void validate(const Graph& graph, int threads = 0);

}  // namespace ramet
