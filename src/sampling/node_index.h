// NodeIndex: the nodes of one type in a batch, and the table that finds them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <variant>

#include "ramet/graph.h"
#include "relabel.h"

namespace ramet {

// The most ids for which a DirectTable is worth its memory, where a sampler has an index for each
// of `ranges`: those of so many ids and less take at most an eighth of what the graph takes, all
// together, if every processor of the machine ran a sampler of its own, whatever their processes.
// (64 KiB in all are always worth it.) Beyond, a HashTable grows with the batch instead.
[[nodiscard]] int64_t direct_table_limit(const Graph& graph, std::span<const NodeRange> ranges);

// What tells the nodes of a batch apart, and finds them: their ids. With disjoint trees, a tree and
// an id in one number (trees.h).
template <typename Id>
using NodeKey = Id;

template <typename Id>
class NodeIndex {
 public:
  // Chooses the table for ids within `range`; `limit`: direct_table_limit() of all indexes.
  void prepare(int64_t limit, NodeRange range) {
    if (range.size() > limit) {
      if (!std::holds_alternative<Hashed>(table_)) table_ = Hashed();
      return;
    }
    const auto* direct = std::get_if<DirectTable>(&table_);
    if (direct == nullptr || !direct->fits(range)) table_ = DirectTable(range);
  }

  // Starts a new batch. Its first nodes are `seeds`. Disjoint: `trees` of all keys.
  template <typename Seed>
  void start_batch(std::span<const Seed> seeds, const KeyTrees& trees = {}) {
    visit([&](auto& table) { table.start_batch(nodes_.size(), trees); });
    nodes_.set_size(0);
    reserve_more(seeds.size());
    std::transform(seeds.begin(), seeds.end(), nodes_.data(),
                   [](Seed seed) { return static_cast<Id>(seed); });
    nodes_.set_size(seeds.size());
    visit([&](auto& table) { table.insert(nodes_); });
  }

  // Makes room for up to `count` new nodes.
  void reserve_more(size_t count) {
    nodes_.reserve(nodes_.size() + count + 1);
    visit([&](auto& table) { table.reserve(nodes_.size() + count, nodes_); });
  }

  // Requests the memory that relabel() will need for these ids. A HashTable does it on its own.
  void request(std::span<const Id> ids) const {
    const auto* direct = std::get_if<DirectTable>(&table_);
    if (direct == nullptr) return;
    for (const Id id : ids)
      direct->request_slot(id);
  }

  // local[i] = position of ids[i] in the batch; ids that are new are appended.
  void relabel(std::span<const Id> ids, int32_t* local) {
    visit([&](auto& table) { table.relabel(ids, nodes_, local); });
  }

  [[nodiscard]] std::span<const Id> ids() const { return nodes_.ids(); }
  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(nodes_.size()); }

 private:
  using Hashed = HashTable<NodeKey<Id>>;

  template <typename Visit>
  void visit(Visit&& body) {
    std::visit(body, table_);
  }

  NodeList<NodeKey<Id>> nodes_;
  std::variant<Hashed, DirectTable> table_;
};

}  // namespace ramet
