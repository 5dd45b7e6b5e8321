#include "aggregate.h"

namespace ramet {

AggregateKernels aggregate_avx512(RowType) {
  return {};
}

}  // namespace ramet
