#include "aggregate.h"
#include "aggregate_lanes.h"
#include "row_lanes_avx2.h"

namespace ramet {

AggregateKernels aggregate_avx2(RowType type) {
  switch (type) {
    case RowType::kFloat32:
      return aggregate_kernels_of<Avx2Float32>();
    case RowType::kFloat64:
      return aggregate_kernels_of<Avx2Float64>();
    case RowType::kBFloat16:
      return aggregate_kernels_of<Avx2BFloat16>();
    case RowType::kFloat16:
      return aggregate_kernels_of<Avx2Float16>();
  }
  return {};
}

}  // namespace ramet
