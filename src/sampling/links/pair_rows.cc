#include "pair_rows.h"

#include <algorithm>

#include "ramet/error.h"

namespace ramet {

PairIndex::PairIndex(const PairRows& rows)
    : edges_(&rows.graph->edge_types()[static_cast<size_t>(rows.edge_type)]),
      indptr_(edges_->indptr.as<int64_t>().data()),
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

bool PairIndex::has(
    const Row& row, int64_t source, int64_t destination, int64_t time, When when) const {
  const int64_t wanted = by_source_ ? destination : source;
  return with_ids(edges_->indices, [&](auto ids) {
    const auto* begin = ids.data() + row.begin;
    const auto* end = begin + row.degree;
    const auto* found = std::lower_bound(begin, end, wanted);
    if (times_ == nullptr) return found != end && *found == wanted;
    for (; found != end && *found == wanted; ++found)
      if (const int64_t at = times_[found - ids.data()];
          when == When::kThen ? at == time : at <= time)
        return true;
    return false;
  });
}

int64_t PairIndex::node_at(const Row& row, int64_t entry, int64_t num_nodes) const {
  const int64_t position = row.begin + entry;
  const int64_t node = with_ids(edges_->indices, [&](auto ids) {
    return static_cast<int64_t>(ids[static_cast<size_t>(position)]);
  });
  if (static_cast<uint64_t>(node) >= static_cast<uint64_t>(num_nodes))
    throw_bad_entry(edges_->indices_location, position, node,
                    concat("is outside [0, ", num_nodes, ")"));
  return node;
}

Row PairIndex::before(const Row& row, int64_t time) const {
  const int64_t* const begin = times_ + row.begin;
  return {row.begin, std::lower_bound(begin, begin + row.degree, time) - begin};
}

}  // namespace ramet
