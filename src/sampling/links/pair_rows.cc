#include "pair_rows.h"

#include "ramet/error.h"

namespace ramet {

PairIndex::PairIndex(const PairRows& rows)
    : edges_(&rows.graph->edge_types()[static_cast<size_t>(rows.edge_type)]),
      indptr_(edges_->indptr.as<int64_t>().data()),
      entries_(edges_->indices),
      num_others_(rows.graph->node_types()[static_cast<size_t>(edges_->src)].num_nodes),
      by_source_(rows.by_source) {
  if (rows.times.empty()) return;
  const auto found = edges_->tables.find(rows.times);
  if (found == edges_->tables.end())
    throw_error(ErrorCode::kNotFound, "edge type ", edges_->encoded, " has no table '", rows.times,
                "'");
  if (found->second.dtype != DType::kInt64 || found->second.shape.size() != 1)
    throw_invalid("table '", rows.times, "' of edge type ", edges_->encoded,
                  " is not one int64 a row");
  times_ = found->second.as<int64_t>().data();
}

int64_t PairIndex::node_at(const Row& row, int64_t number, int64_t num_nodes) const {
  const int64_t position = row.begin + number;
  const int64_t node = entry(position);
  if (static_cast<uint64_t>(node) >= static_cast<uint64_t>(num_nodes))
    throw_bad_entry(edges_->indices_location, position, node,
                    concat("is outside [0, ", num_nodes, ")"));
  return node;
}

}  // namespace ramet
