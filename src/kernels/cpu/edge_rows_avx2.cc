#include "edge_rows.h"
#include "edge_rows_lanes.h"
#include "row_lanes_avx2.h"

namespace ramet {

EdgeRowsKernels edge_rows_avx2(RowType type) {
  switch (type) {
    case RowType::kFloat32:
      return edge_rows_kernels_of<Avx2Float32>();
    case RowType::kFloat64:
      return edge_rows_kernels_of<Avx2Float64>();
    case RowType::kBFloat16:
      return edge_rows_kernels_of<Avx2BFloat16>();
    case RowType::kFloat16:
      return edge_rows_kernels_of<Avx2Float16>();
  }
  return {};
}

}  // namespace ramet
