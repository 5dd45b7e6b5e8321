// EdgeRows: reads the rows of one edge type as the rules that CPU and GPU share do (walk_rules.h,
// pair_rules.h). What does not fit is remembered, and reads nothing out of bounds.
#pragma once

#include <cstdint>

#include "kernels/cuda_csc.h"

namespace ramet {

struct EdgeRow {
  int64_t begin, degree;
};

class EdgeRows {
 public:
  constexpr explicit EdgeRows(const CudaEdgeRows& rows) : rows_(rows) {}

  constexpr bool has_sums() const { return rows_.sums != nullptr; }
  constexpr double sum(int64_t position) const { return rows_.sums[position]; }
  constexpr bool has_times() const { return rows_.times != nullptr; }
  constexpr int64_t time(int64_t position) const { return rows_.times[position]; }

  // Of a node that has a row.
  constexpr EdgeRow row(int64_t node) const {
    const int64_t begin = rows_.edges.indptr[node], end = rows_.edges.indptr[node + 1];
    const bool fits = static_cast<uint64_t>(end) <= static_cast<uint64_t>(rows_.edges.num_edges) &&
                      static_cast<uint64_t>(begin) <= static_cast<uint64_t>(end);
    is_bad_ |= !fits;
    return fits ? EdgeRow{begin, end - begin} : EdgeRow{0, 0};
  }
  constexpr int64_t entry(int64_t position) const {
    return id_in(rows_.edges.indices, rows_.edges.wide_ids, position);
  }
  // The same, if it is a node.
  constexpr int64_t end_of(int64_t position) const {
    const int64_t end = entry(position);
    is_bad_ |= static_cast<uint64_t>(end) >= static_cast<uint64_t>(rows_.edges.num_src_nodes);
    return end;
  }
  constexpr bool is_bad() const { return is_bad_; }

  static constexpr int64_t id_in(const void* ids, bool wide, int64_t i) {
    return wide ? static_cast<const int64_t*>(ids)[i] : static_cast<const int32_t*>(ids)[i];
  }

 private:
  const CudaEdgeRows& rows_;
  mutable bool is_bad_ = false;
};

}  // namespace ramet
