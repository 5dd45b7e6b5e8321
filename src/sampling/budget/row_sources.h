// RowSources: the sources of the in-edges of many nodes, some thousand at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prefetch.h"
#include "ramet/graph.h"
#include "sampling/excluded_edges.h"
#include "sampling/relation_builder.h"
#include "sampling/rows.h"

namespace ramet {

// Some in-edges of a node, side by side. `node` is its position in the list, `degree` the number of
// all edges of its row but the excluded ones.
struct RowPiece {
  int64_t node, begin, count, degree;
};

template <typename Id>
class RowSources {
 public:
  // Calls body(pieces, sources), with the pieces of some rows and the ids of all their sources, in
  // order, until all in-edges of the nodes but the `excluded` positions have passed. kCorrupt for a
  // source that is no node.
  template <typename Body>
  void for_each(const Graph& graph,
                const EdgeType& edges,
                std::span<const Id> nodes,
                const ExcludedPositions& excluded,
                Body&& body) {
    const NodeRows& rows = graph.node_types()[static_cast<size_t>(edges.dst)].rows;
    const int64_t num_sources = graph.node_types()[static_cast<size_t>(edges.src)].num_nodes;
    pieces_.clear();
    sources_.clear();
    const auto flush = [&] {
      body(std::span<const RowPiece>(pieces_), std::span<const Id>(sources_));
      pieces_.clear();
      sources_.clear();
    };
    with_ids(edges.indices, [&](auto stored) {
      for_each_row(edges, rows, nodes, 0, std::ssize(nodes), [&](int64_t i, const Row& row) {
        const auto left_out = excluded.in(row);
        const int64_t degree = row.degree - std::ssize(left_out);
        for_each_run(row, left_out, [&](int64_t begin, int64_t end) {
          while (begin < end) {
            const int64_t count = std::min(end - begin, kMost - std::ssize(sources_));
            pieces_.push_back({i, begin, count, degree});
            for (const int64_t until = begin + count; begin < until; ++begin) {
              const auto id = stored[static_cast<size_t>(begin)];
              if (static_cast<uint64_t>(id) >= static_cast<uint64_t>(num_sources))
                throw_bad_source(edges, begin, id, num_sources);
              sources_.push_back(static_cast<Id>(id));
            }
            if (std::ssize(sources_) == kMost) flush();
          }
        });
      });
    });
    flush();
  }

 private:
  static constexpr int64_t kMost = 8192;
  std::vector<RowPiece> pieces_;
  std::vector<Id> sources_;
};

}  // namespace ramet
