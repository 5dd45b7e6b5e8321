// TableRequest: a table that a loader gathers with every batch, and where its rows are.
//
// A value, which keeps its rows alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "ramet/array.h"
#include "ramet/table.h"
#include "ramet/whole_table.h"

namespace ramet {

inline constexpr int kNoEdgeType = -1;

// The graph's table of that name.
struct GraphTable {};

// Rows in this process's addresses that replace a graph's: row v, or the row at its position in
// `positions`, is node v's. If rows are written, a batch has them as they were when it was made.
struct ProvidedTable {
  Table rows;
  std::optional<RowPositions> positions = std::nullopt;
  // int64 [n] on the host: the rows that are newer in `cached_rows`, memory that a device reads.
  Array cached = {}, cached_rows = {};
};

// The same with some rows on other machines. They are pulled, which needs a GroupThread.
struct PulledTable {
  Table rows;
  RowPositions positions;
  std::vector<bool> is_local;  // by owner of `positions`: its rows are in this process's addresses
  int rank = 0;                // which owner this process is
};

// The numbers `begin` to `end` of a row.
struct Cells {
  int64_t begin = 0, end = 0;
};

// A table of a node type is gathered at the seeds or at all its nodes. If an edge type is named,
// its table is gathered at the edges of all blocks, farthest hop first; with Expand::kOnce the
// seeds' hop first, as merged_positions() has them.
struct TableRequest {
  int node_type = 0;
  std::string name;
  bool at_seeds = false;
  int edge_type = kNoEdgeType;  // whose rows are the graph's
  // For a node table of one rank's batches: rows only for the destinations of the first block. Its
  // sources are averaged over edges, straight from the table: Batch::means.
  bool fused = false;
  bool as_bfloat16 = false;  // rows of floats arrive as bfloat16
  // For a node table: zeros in the rows of seeds, the first of its rows.
  std::vector<Cells> hidden = {};
  std::variant<GraphTable, ProvidedTable, PulledTable> rows = GraphTable();

  [[nodiscard]] bool is_of_edges() const { return edge_type != kNoEdgeType; }
  // Whether it is read at all nodes of a type, and so worth a cache.
  [[nodiscard]] bool is_of_nodes() const { return !at_seeds && !is_of_edges(); }
  [[nodiscard]] const PulledTable* pulled() const { return std::get_if<PulledTable>(&rows); }
  // nullptr: the graph's; also if positions are node ids.
  [[nodiscard]] const Table* table() const;
  [[nodiscard]] const RowPositions* positions() const;
  // Where a device has some of the rows; else nullptr.
  [[nodiscard]] const ProvidedTable* cached() const;
};

inline const Table* TableRequest::table() const {
  if (const auto* provided = std::get_if<ProvidedTable>(&rows)) return &provided->rows;
  return pulled() == nullptr ? nullptr : &pulled()->rows;
}

inline const ProvidedTable* TableRequest::cached() const {
  const auto* provided = std::get_if<ProvidedTable>(&rows);
  return provided == nullptr || provided->cached.shape.empty() ? nullptr : provided;
}

inline const RowPositions* TableRequest::positions() const {
  if (pulled() != nullptr) return &pulled()->positions;
  const auto* provided = std::get_if<ProvidedTable>(&rows);
  return provided != nullptr && provided->positions ? &*provided->positions : nullptr;
}

}  // namespace ramet
