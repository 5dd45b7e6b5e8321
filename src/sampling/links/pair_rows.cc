#include "pair_rows.h"

#include "ramet/error.h"

namespace ramet {

PairIndex::PairIndex(const PairRows& rows)
    : edges_(&rows.graph->edge_types()[static_cast<size_t>(rows.edge_type)]),
      indptr_(edges_->indptr.as<int64_t>().data()),
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

bool PairIndex::has(const Row& row, int64_t source, int64_t destination, int64_t time) const {
  const int64_t wanted = by_source_ ? destination : source;
  return with_ids(edges_->indices, [&](auto ids) {
    const auto* begin = ids.data() + row.begin;
    const auto* end = begin + row.degree;
    const auto* found = std::lower_bound(begin, end, wanted);
    if (times_ == nullptr) return found != end && *found == wanted;
    for (; found != end && *found == wanted; ++found)
      if (times_[found - ids.data()] <= time) return true;
    return false;
  });
}

}  // namespace ramet
