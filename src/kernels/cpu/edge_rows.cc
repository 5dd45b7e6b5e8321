#include "edge_rows.h"

#include "edge_rows_lanes.h"
#include "isa_kernels.h"
#include "row_lanes_plain.h"

namespace ramet {
EdgeRowsKernels edge_rows_single(RowType type) {
  return edge_rows_kernels_of<PlainLanes<1>>(type);
}

EdgeRowsKernels edge_rows_portable(RowType type) {
  return edge_rows_kernels_of<PlainLanes<4>>(type);
}

EdgeRowsKernels edge_rows_kernels(RowType type, int64_t width) {
  EdgeRowsKernels best = edge_rows_single(type);
  for (const Isa set : kIsas) {
    if (set > isa()) break;
    const EdgeRowsKernels kernels = isa_kernels(set).edge_rows(type);
    if (kernels.lanes <= width) best = kernels;
  }
  return best;
}

}  // namespace ramet
