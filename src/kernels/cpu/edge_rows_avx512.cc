#include "edge_rows.h"
#include "edge_rows_lanes.h"
#include "row_lanes_avx512.h"

namespace ramet {

EdgeRowsKernels edge_rows_avx512(RowType type) {
  switch (type) {
    case RowType::kFloat32:
      return edge_rows_kernels_of<Avx512Float32>();
    case RowType::kFloat64:
      return edge_rows_kernels_of<Avx512Float64>();
    case RowType::kBFloat16:
      return edge_rows_kernels_of<Avx512BFloat16>();
    case RowType::kFloat16:
      return edge_rows_kernels_of<Avx512Float16>();
  }
  return {};
}

}  // namespace ramet
