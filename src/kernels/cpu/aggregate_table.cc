#include "aggregate.h"
#include "aggregate_table_lanes.h"
#include "row_lanes_plain.h"

namespace ramet {

AggregateKernels aggregate_single(TableRowType type) {
  return table_kernels_of<PlainLanes<1>>(type);
}

AggregateKernels aggregate_portable(TableRowType type) {
  return table_kernels_of<PlainLanes<4>>(type);
}

}  // namespace ramet
