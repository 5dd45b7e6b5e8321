// RelationBuilder: one Relation in the making: its arrays, and the relabeling of its sources. What
// every sampler does in the same way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "edge_times.h"
#include "excluded_edges.h"
#include "hop_driver.h"
#include "node_index.h"
#include "ramet/buffer_pool.h"
#include "ramet/graph.h"
#include "ramet/sampler.h"
#include "rows.h"
#include "trees.h"

namespace ramet {

// One edge type of one hop: what is read, whatever the type of ids.
struct RelationRows {
  size_t edge_type;  // position in Graph::edge_types()
  const EdgeType& edges;
  const NodeRows& dst_rows;  // of the destination type
  int64_t num_src_nodes;     // of the source type, in the graph
  int64_t fanout;
  IdSpan dst_ids;                               // of the destinations, until sources are appended
  const ExcludedPositions* excluded = nullptr;  // nullptr: none of the edge type
  const TreeKeys* source_keys = nullptr;        // disjoint trees
  const EdgeTimes* times = nullptr;             // of the edges, where a time holds some back
  // With SampleOptions::time: the times that the edges of each destination may have.
  std::span<const TimeSpan> allowed = {};
  // Of sorted rows: the parts that these times allow, where they are known already.
  std::span<const Row> parts = {};

  [[nodiscard]] int64_t num_dst() const { return static_cast<int64_t>(dst_ids.size()); }
  // Positions of the edges in a row that may not be drawn.
  [[nodiscard]] std::span<const int64_t> excluded_in(const Row& row) const {
    return excluded == nullptr ? std::span<const int64_t>() : excluded->in(row);
  }
};

// for_each_row() of the destinations, until sources are appended.
template <typename Body>
void for_each_dst_row(const RelationRows& task, int64_t begin, int64_t end, Body&& body) {
  task.dst_ids.with(
      [&](auto ids) { for_each_row(task.edges, task.dst_rows, ids, begin, end, body); });
}

// New sources are appended to theirs, which may be the list that the destinations are in.
template <typename Id>
struct RelationTask : RelationRows {
  ListRange destinations;  // in `nodes`
  const NodeIndex<Id>& nodes;
  NodeIndex<Id>& sources;
  // Disjoint trees: the destinations, since their list has keys. Else nullptr.
  const TreeNodes<Id>* tree_nodes;

  // Also while sources are appended.
  [[nodiscard]] std::span<const Id> dst_nodes() const {
    return tree_nodes != nullptr ? tree_nodes->ids : destinations.of(nodes.ids());
  }
};

// An id that stands at `position` of the edge type and is no node of the source type.
[[noreturn]] void throw_bad_source(const EdgeType& edges,
                                   int64_t position,
                                   int64_t id,
                                   int64_t num_src_nodes);

inline constexpr int64_t kMaxPicks = int64_t{1} << 40;  // of a relation in host memory

// More picks, or nodes, than a relation or a batch can have.
[[noreturn]] void throw_too_many_picks(const EdgeType& edges,
                                       int64_t fanout,
                                       int64_t num_dst,
                                       int64_t most);
[[noreturn]] void throw_too_many_nodes();

// Gives `ids` their positions in `index`, which has room for all of them. kInvalidArgument where
// these do not fit 32 bits.
template <typename Id>
void relabel(NodeIndex<Id>& index, std::span<const Id> ids, int32_t* local);
// The same for many ids whose memory nobody has requested yet.
template <typename Id>
void request_and_relabel(NodeIndex<Id>& index, std::span<const Id> ids, int32_t* local);

template <typename Id>
class RelationBuilder {
 public:
  RelationBuilder(const RelationTask<Id>& task, BufferPool& pool);

  // int64[num_dst + 1], for the caller to fill with the number of picks of row i at i + 1, before
  // it calls allocate().
  [[nodiscard]] int64_t* indptr() { return static_cast<int64_t*>(relation_.indptr.data); }
  // Sums the numbers up to offsets, and makes room for so many edges. Returns their number; with
  // none the relation is complete.
  int64_t allocate();

  // int32 where the positions of the edge type fit, else int64; to be filled.
  [[nodiscard]] const Array& position() const { return relation_.position; }
  // float32, to be filled, by samplers that weigh edges themselves.
  float* allocate_weights();

  // What relabeling takes: turns the ids of the sources of the edges from `begin` on into what
  // tells nodes apart. Threads may share the work.
  void make_keys(int64_t begin, std::span<Id> ids) const {
    if (task_.tree_nodes != nullptr) make_tree_keys(begin, ids);
  }
  // Gives the edges from `begin` on, whose sources are `keys`, their local ids. In order, from the
  // first edge on; requested() somewhat earlier is faster.
  void relabel(int64_t begin, std::span<const Id> keys);
  void request(std::span<const Id> keys) const { task_.sources.request(keys); }
  void request_and_relabel(int64_t begin, std::span<const Id> keys);

  [[nodiscard]] Relation take() { return std::move(relation_); }

 private:
  void make_tree_keys(int64_t begin, std::span<Id> ids) const;

  const RelationTask<Id>& task_;
  BufferPool& pool_;
  Relation relation_;
};

// Calls body with the typed elements of relation positions, which are being written.
template <typename Body>
void with_mutable_ids(const Array& ids, Body&& body) {
  if (ids.dtype == DType::kInt32) return body(static_cast<int32_t*>(ids.data));
  return body(static_cast<int64_t*>(ids.data));
}

}  // namespace ramet
