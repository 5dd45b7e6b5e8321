#include "aggregate.h"

#include "aggregate_lanes.h"
#include "ramet/isa.h"
#include "row_lanes_plain.h"

namespace ramet {
namespace {

template <int64_t kCount>
AggregateKernels plain_kernels(RowType type) {
  switch (type) {
    case RowType::kFloat32:
      return aggregate_kernels_of<PlainFull<float, kCount>>();
    case RowType::kFloat64:
      return aggregate_kernels_of<PlainFull<double, kCount>>();
    case RowType::kBFloat16:
      return aggregate_kernels_of<PlainHalves<from_bfloat16, DType::kBFloat16, kCount>>();
    case RowType::kFloat16:
      return aggregate_kernels_of<PlainHalves<from_half, DType::kFloat16, kCount>>();
  }
  return {};
}

// The best of those for vectors that a head is no shorter than.
template <typename Type>
AggregateKernel best_kernel(Type type, int64_t head_width) {
  AggregateKernels best = aggregate_single(type);
  const auto offer = [&](const AggregateKernels& kernels) {
    if (kernels.aggregate != nullptr && kernels.lanes <= head_width) best = kernels;
  };
  offer(aggregate_portable(type));
  if (isa() >= Isa::kAvx2) offer(aggregate_avx2(type));
  if (isa() >= Isa::kAvx512) offer(aggregate_avx512(type));
  return best.aggregate;
}

}  // namespace

AggregateKernels aggregate_single(RowType type) {
  return plain_kernels<1>(type);
}

AggregateKernels aggregate_portable(RowType type) {
  return plain_kernels<4>(type);
}

AggregateKernel aggregate_kernel(RowType type, int64_t head_width) {
  return best_kernel(type, head_width);
}

AggregateKernel aggregate_kernel(TableRowType type, int64_t head_width) {
  return best_kernel(type, head_width);
}

}  // namespace ramet
