#include "aggregate.h"
#include "aggregate_lanes.h"
#include "row_lanes_avx512.h"

namespace ramet {

AggregateKernels aggregate_avx512(RowType type) {
  switch (type) {
    case RowType::kFloat32:
      return aggregate_kernels_of<Avx512Float32>();
    case RowType::kFloat64:
      return aggregate_kernels_of<Avx512Float64>();
    case RowType::kBFloat16:
      return aggregate_kernels_of<Avx512BFloat16>();
    case RowType::kFloat16:
      return aggregate_kernels_of<Avx512Float16>();
  }
  return {};
}

}  // namespace ramet
